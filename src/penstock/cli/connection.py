"""Options that say where a broker is, and how it knows us."""

from typing import Annotated

import typer

Address = Annotated[
    str, typer.Option("--broker", help="mqtt://HOST:PORT, or mqtts:// for TLS.", metavar="ADDRESS")
]
User = Annotated[str | None, typer.Option(help="Who we are. [$PENSTOCK_MQTT_USER]", metavar="NAME")]
PasswordFile = Annotated[
    str | None,
    typer.Option(help="A file with the password. [$PENSTOCK_MQTT_PASSWORD]", metavar="FILE"),
]
Ca = Annotated[
    str | None, typer.Option(help="Certificates to trust. [the machine's]", metavar="FILE")
]
Certificate = Annotated[
    str | None, typer.Option(help="Our certificate, where one is asked for.", metavar="FILE")
]
PrivateKey = Annotated[
    str | None, typer.Option(help="The private key of our certificate.", metavar="FILE")
]
Root = Annotated[str, typer.Option(help="The beginning of all topics.", metavar="TOPIC")]
Timeout = Annotated[
    float, typer.Option(help="Seconds to wait for the broker.", metavar="S", min=0.1)
]
LOCAL = "mqtt://localhost:1883"
