"""Tuples of arrays by reference: a kernel hands on one pointer instead of hundreds of numbers.

Numba passes a tuple as all that is in it. What a join remembers is some 40 arrays of 8 numbers, so
each call of a function would pack and unpack hundreds of them, and most of the time to compile a
kernel would go there. So a kernel writes its tuples down once, as it begins, and everything that it
calls gets a `Ref`: `tables.held` of one is a `Ref` again, or an array that is read where it lies.
Without the JIT a tuple stays a tuple.
"""

import hashlib
import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.extending import intrinsic, models, register_model
from numba.core.imputils import lower_builtin, lower_getattr_generic
from numba.core.typing.templates import (
    AbstractTemplate,
    AttributeTemplate,
    infer_getattr,
    infer_global,
    signature,
)


def signature_text(kind: Any) -> str:
    """Return the type of arguments as text; unlike Numba's own it has the fields of a NamedTuple.

    >>> signature_text(types.UniTuple(types.int64, 2))
    'UniTuple(int64 x 2)'
    """
    if isinstance(kind, Ref):
        return f"Ref({signature_text(kind.kind)})"
    if isinstance(kind, types.BaseNamedTuple):
        inner = map(signature_text, kind)
        return str([*zip(kind.fields, inner, strict=True)])
    if isinstance(kind, types.Tuple) or type(kind) is tuple:
        return str([signature_text(each) for each in kind])
    if isinstance(kind, types.UniTuple) and isinstance(kind.dtype, types.BaseNamedTuple):
        return f"{kind.count} x {signature_text(kind.dtype)}"
    return str(kind)


class Ref(types.Type):
    """A tuple that lies in memory."""

    def __init__(self, kind: Any):
        self.kind = kind
        self.offsets: list[int] = []  # of its members, once they are known
        # The names of compiled functions have those of their arguments in them, wherever they are
        # called: in full they would be pages long.
        super().__init__(f"Ref{hashlib.sha256(signature_text(kind).encode()).hexdigest()[:16]}")


BYTES = ir.IntType(8).as_pointer()


@register_model(Ref)
class _RefModel(models.PrimitiveModel):
    def __init__(self, manager: Any, ref: Ref):
        super().__init__(manager, ref, BYTES)  # the text of a typed pointer would be pages long


def _read(kind: Any) -> Any:
    """Return the type of a member: tuples are referred to, everything else is loaded."""
    return Ref(kind) if isinstance(kind, types.BaseTuple) else kind


@infer_getattr
class _RefAttribute(AttributeTemplate):
    key = Ref

    def generic_resolve(self, ref: Ref, name: str) -> Any:
        fields = getattr(ref.kind, "fields", ())
        return _read(ref.kind[fields.index(name)]) if name in fields else None


@infer_global(operator.getitem)
class _RefItem(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        ref, _ = args
        if isinstance(ref, Ref) and isinstance(ref.kind, types.UniTuple | types.NamedUniTuple):
            return signature(_read(ref.kind.dtype), ref, types.intp)
        return None


@infer_global(len)
class _RefLength(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        if len(args) == 1 and isinstance(args[0], Ref):
            return signature(types.intp, args[0])
        return None


def _member(context: Any, builder: Any, kind: Any, pointer: Any) -> Any:
    if isinstance(kind, types.BaseTuple):
        return pointer
    model = context.data_model_manager[kind]
    placed = builder.bitcast(pointer, model.get_data_type().as_pointer())
    if model.get_data_type() == model.get_value_type():
        return builder.load(placed)
    return context.unpack_value(builder, kind, placed)


def _offsets(context: Any, ref: Ref) -> list[int]:
    """Return where the members of a tuple begin, in bytes."""
    if ref.offsets:
        return ref.offsets
    places, end = [], 0
    for each in ref.kind:
        data = context.get_data_type(each)
        step = context.get_abi_alignment(data)
        places.append(-(-end // step) * step)
        end = places[-1] + context.get_abi_sizeof(data)
    ref.offsets = places  # no global, which would be part of what a kernel is made of
    return places


def member(context: Any, builder: Any, ref: Ref, pointer: Any, place: int) -> Any:
    """Return one member of a tuple that lies in memory."""
    offset = cgutils.intp_t(_offsets(context, ref)[place])
    inner = builder.gep(pointer, [offset], inbounds=True)
    return _member(context, builder, ref.kind[place], inner)


@lower_getattr_generic(Ref)
def _get_member(context: Any, builder: Any, ref: Ref, pointer: Any, name: str) -> Any:
    return member(context, builder, ref, pointer, ref.kind.fields.index(name))


@lower_builtin(operator.getitem, Ref, types.intp)
def _get_item(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    pointer, index = args
    kind = sig.args[0].kind
    size = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    inner = builder.gep(pointer, [builder.mul(index, cgutils.intp_t(size))], inbounds=True)
    return _member(context, builder, kind.dtype, inner)


@lower_builtin(len, Ref)
def _get_length(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return cgutils.intp_t(len(sig.args[0].kind))


@intrinsic
def by_reference(typing_context, value):
    """Return a reference to a tuple that lasts as long as the function runs; else the value."""

    def codegen(context, builder, sig, args):
        if not isinstance(value, types.BaseTuple):
            return args[0]
        place = cgutils.alloca_once(builder, context.get_data_type(value))
        if context.get_data_type(value) == context.get_value_type(value):
            builder.store(args[0], place)
        else:
            context.pack_value(builder, value, args[0], place)
        return builder.bitcast(place, BYTES)

    return _read(value)(value), codegen
