"""Ask the processor to fetch a cache line that will be needed soon.

A large memory is a chain of cache misses per arrival; the first of them, the key's bucket, is
known many arrivals ahead. Without the JIT this does nothing.
"""

from typing import Any

from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.core.extending import intrinsic
from numba.np.arrayobj import make_array

READ, KEEP_CLOSE, DATA = 0, 3, 1  # arguments of LLVM's prefetch


@intrinsic
def _fetch(typing_context, array, row, column):
    """Prefetch `array[row, column]` of a two-dimensional array."""

    def codegen(context, builder, signature, args):
        kind = signature.args[0]
        view = make_array(kind)(context, builder, args[0])
        place = [
            context.cast(builder, value, given, types.intp)
            for value, given in zip(args[1:], signature.args[1:], strict=True)
        ]
        item = cgutils.get_item_pointer(context, builder, kind, view, place, wraparound=False)
        word = ir.IntType(32)
        pointer = builder.bitcast(item, cgutils.voidptr_t)
        shape = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, word, word, word])
        name = "llvm.prefetch.p0"
        function = cgutils.get_or_insert_function(builder.module, shape, name)
        builder.call(function, [pointer, word(READ), word(KEEP_CLOSE), word(DATA)])
        return context.get_dummy_value()

    return types.void(array, row, column), codegen


def _nothing(array, row, column):
    """Stand in for the real thing where nothing is compiled."""


fetch: Any = _nothing if config.DISABLE_JIT else _fetch
