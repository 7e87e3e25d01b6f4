"""How kernels are compiled: what they call is pasted into them first, and optimised once.

Numba makes machine code of every function that a kernel calls, and of everything that this one
calls in turn, and then pastes it into its caller and begins anew: what lies deep is optimised once
for each level above it. Functions made with `jit` are never run on their own. So here they remain
drafts, as Numba's front end wrote them; a kernel gathers all that it needs, pastes it and is
optimised as one piece.
"""

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import llvmlite.binding as ll
from numba import types
from numba.core import codegen, compiler, typed_passes, untyped_passes
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager
from numba.core.registry import CPUDispatcher


class _NoEnvironment:
    """Stands for the code generator where a draft is made ready to be called: it never is."""

    def set_env(self, name: str, env: Any) -> None:
        """Do nothing: the variable has no address, and pasted code does not read it."""


class Draft(codegen.JITCodeLibrary):
    """The code of one function, not optimised, and what it calls."""

    _shared_module: Any

    codegen = _NoEnvironment()

    def add_llvm_module(self, ll_module: Any) -> None:
        self._final_module.link_in(ll_module)

    def finalize(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0  # there is none

    @functools.cached_property
    def own_module(self) -> Any:
        """The code of the function alone, fit to be linked into many."""
        module = self._final_module.clone()
        _set_linkage(module, ll.Linkage.external, "weak_odr")
        return module

    def _get_module_for_linking(self) -> Any:
        """Return the code with all that it calls: for kernels of others, which know no drafts."""
        if self._shared_module is None:
            whole = self.own_module.clone()
            for each in gathered(self._linking_libraries):
                whole.link_in(_module_of(each), preserve=True)
            _set_linkage(whole, ll.Linkage.weak_odr, "linkonce_odr")
            self._shared_module = whole
        return self._shared_module


class Whole(codegen.JITCodeLibrary):
    """The code of a kernel: gathers drafts, pastes them and optimises the result once."""

    def finalize(self) -> None:
        for library in gathered(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(_module_of(library), preserve=True)
        _set_linkage(self._final_module, ll.Linkage.weak_odr, "internal")
        self._optimize_final_module()
        self._final_module.verify()
        self._finalize_final_module()

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        # No run before, which would only bring calls that count references together; and no
        # vectors, which take long to look for and are not found.
        passes, builder = self._codegen._module_pass_manager(
            loop_vectorize=False, slp_vectorize=False
        )
        passes.run(self._final_module, builder)


def _module_of(library: Any) -> Any:
    return library.own_module if isinstance(library, Draft) else library._get_module_for_linking()


def _set_linkage(module: Any, old: Any, new: str) -> None:
    """Give functions that are defined in a module another linkage."""
    for function in module.functions:
        if not function.is_declaration and function.linkage == old:
            function.linkage = new


def gathered(libraries: list[Any]) -> Iterator[Any]:
    """Return libraries and all that their drafts call, each once."""
    seen: set[int] = set()
    waiting = [*reversed(libraries)]
    while waiting:
        library = waiting.pop()
        if id(library) in seen:
            continue
        seen.add(id(library))
        yield library
        if isinstance(library, Draft):
            waiting += reversed(library._linking_libraries)


_known: dict[Any, Any] = {}  # what a function returns for arguments of some types


@contextmanager
def _hurried(typing: Any, target: Any) -> Iterator[None]:
    """Let Numba ask once what it would ask often.

    It goes over all statements of a function until nothing is new, and asks all its definitions of
    `a[b]` each time what they return. And it looks for new definitions in all its modules for each
    function and each call, where only intrinsics are new.
    """
    if "resolve_function_type" in vars(typing):  # this is within another
        yield
        return
    target.refresh()
    ask = typing.resolve_function_type

    def resolve_function_type(func: Any, args: Any, kws: Any) -> Any:
        key = func, tuple(args), tuple(sorted(dict(kws).items()))
        try:
            found = _known.get(key)
        except TypeError:  # something has no hash
            return ask(func, args, kws)
        if found is None:
            found = ask(func, args, kws)
            if found is not None:
                _known[key] = found
        return found

    typing.resolve_function_type = resolve_function_type
    typing.refresh = functools.partial(_look_again, typing)
    target.refresh = functools.partial(_look_again, target)
    try:
        yield
    finally:
        del typing.resolve_function_type, typing.refresh, target.refresh


def _look_again(context: Any) -> None:
    """Take up what is new in the registries that a context knows."""
    for registry in [*context._registries]:
        context.install_registry(registry)


class _Compiler(compiler.Compiler):
    """Numba's compiler, without what kernels do not need, into a library of another kind."""

    library: Any

    def define_pipelines(self) -> Any:
        state = self.state
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        short = PassManager("kernel")
        for each in PASSES:
            short.add_pass(each, each.__name__)
        short.finalize()
        return [short]


PASSES = (
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    untyped_passes.IRProcessing,
    untyped_passes.RewriteSemanticConstants,
    untyped_passes.DeadBranchPrune,
    untyped_passes.GenericRewrites,
    untyped_passes.ReconstructSSA,
    untyped_passes.DeadBranchPrune,
    typed_passes.NopythonTypeInference,
    typed_passes.PreLowerStripPhis,
    typed_passes.IRLegalization,
    typed_passes.AnnotateTypes,
    typed_passes.NativeLowering,
    typed_passes.NoPythonBackend,
)


class DraftCompiler(_Compiler):
    """Makes drafts."""

    library = Draft


class KernelCompiler(_Compiler):
    """Makes whole kernels."""

    library = Whole


class _Dispatcher(CPUDispatcher):
    def compile(self, sig: Any) -> Any:
        with global_compiler_lock, _hurried(self.typingctx, self.targetctx):
            return super().compile(sig)


class DraftDispatcher(_Dispatcher):
    """A function of which drafts are made; a number is not told apart from a constant.

    Called from Python it runs as it was written: see `plainly` in `jit.py`.
    """

    plain: Any = None  # what Python calls instead, where it cannot run what was written

    def __call__(self, *args: Any) -> Any:
        return (self.plain or self.py_func)(*args)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        _, folded = self._compiler.fold_argument_types(args, kws)
        return super().get_call_template(tuple(map(types.unliteral, folded)), {})
