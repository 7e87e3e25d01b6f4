from penstock.simulation import demo, show, sweep


def test_the_demo_ends_with_a_moral(monkeypatch):
    monkeypatch.setattr(
        demo,
        "sweep",
        lambda scenario, progress: sweep(scenario, ["fifo", "lru"], progress=progress),
    )
    told = []
    made = demo.run_demo(lambda done, total: told.append(done))
    assert told == [0, 1, 2]
    assert demo.moral(made).startswith("In a tenth of the memory")
    assert "lru still finds" in demo.moral(made)
    assert show.comparison(made).row_count == 2
