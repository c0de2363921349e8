"""Python functions as tools: from named modules, from files in a folder, from other packages.

The tools of a module are everything marked ``@tool`` or ``@toolbox``; if nothing is marked, every
public function that the module itself defines. Only modules that the operator names are imported.
"""

from __future__ import annotations

import asyncio
import functools
import importlib
import inspect
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib.metadata import EntryPoint, entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

from vixio.core.tools.context import ToolContext
from vixio.core.tools.local import func_to_tool_definition
from vixio.core.tools.source import Fault, FixedSource, ToolSource
from vixio.core.tools.types import ToolDefinition, ToolOptions
from vixio.tools.decorator import is_toolbox, mark_of
from vixio.tools.registry import SourceContext, ToolSourceFactory
from vixio.tools.source_settings import Name, SourceSettings

_log = logging.getLogger(__name__)

LOCAL_SOURCE = "local"

ENTRY_POINT_GROUP = "vixio.tools"
"""``name = "package.module"`` or ``"package.module:function"`` of another distribution."""

_FOLDER_PACKAGE = "vixio_tools_folder"
"""Prefix of the module names of these files, so that none hides an installed module."""


class LocalSource(ToolSource):
    """Tools written in Python. Modules that cannot be loaded are in ``faults``; the rest works."""

    def __init__(
        self,
        modules: Sequence[str] = (),
        folder: Path | None = None,
        *,
        use_entry_points: bool = True,
        name: str = LOCAL_SOURCE,
    ) -> None:
        """``modules``: ``package.module`` or ``package.module:function``, loaded by `start`."""
        super().__init__(name)
        self._modules = tuple(modules)
        self._folder = folder
        self._use_entry_points = use_entry_points
        self._tools: tuple[ToolDefinition, ...] = ()

    def tools(self) -> Sequence[ToolDefinition]:
        """Return what was loaded."""
        return self._tools

    async def start(self) -> None:
        """Import everything, in a thread."""
        found, self.faults = await asyncio.to_thread(self._load)
        for fault in self.faults:
            fields = {"location": fault.place, "reason": fault.reason}
            _log.warning("tools left out", extra=fields)
        if found != self._tools:
            self._tools = found
            self.changed()

    def _load(self) -> tuple[tuple[ToolDefinition, ...], list[Fault]]:
        tools: dict[str, ToolDefinition] = {}
        faults: list[Fault] = []
        for place, load in self._places():
            try:
                for tool in describe(load()):
                    if tool.name in tools:
                        faults.append(Fault(place, f"there is a tool {tool.name} already"))
                    else:
                        tools[tool.name] = tool
            # SystemExit too: a script put here by mistake must not stop the server.
            except (Exception, SystemExit) as error:  # noqa: BLE001 - third-party code
                faults.append(Fault(place, _one_line(error)))
        return tuple(tools.values()), faults

    def _places(self) -> Iterator[tuple[str, Callable[[], object]]]:
        for named in self._modules:
            yield named, functools.partial(_named, named)
        if self._folder is not None:
            if not self._folder.is_dir():
                yield str(self._folder), _no_folder
            for path in sorted(self._folder.glob("*.py")):
                if not path.name.startswith("_"):
                    yield str(path), functools.partial(_file, path)
        if self._use_entry_points:
            for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=_of_point):
                yield f"entry point {point.name}", point.load


LocalTool = Callable[..., Any] | ToolDefinition
"""A function, something marked ``@toolbox``, or a finished definition."""

APP_SOURCE = "app"
"""The source of tools that the embedding program passes to its server."""


def app_source(tools: Sequence[LocalTool]) -> FixedSource:
    """Return ``tools`` as a source. Raises TypeError for one that cannot be described."""
    described: list[ToolDefinition] = []
    for tool in tools:
        described += [tool] if isinstance(tool, ToolDefinition) else describe(tool)
    return FixedSource(APP_SOURCE, described)


def describe(loaded: object) -> list[ToolDefinition]:
    """Return the tools in a module, a toolbox or a function.

    Raises TypeError when there are none, or one cannot be described.
    """
    if isinstance(loaded, ModuleType):
        members = list(vars(loaded).values())
        marked = [member for member in members if mark_of(member) or is_toolbox(member)]
        own = [
            member
            for member in members
            if inspect.isfunction(member)
            and member.__module__ == loaded.__name__
            and not member.__name__.startswith("_")
        ]
        tools = [tool for member in marked or own for tool in describe(member)]
        if not tools:
            raise TypeError("it contains no function")
        return tools
    if is_toolbox(loaded):
        return _describe_toolbox(loaded)
    if inspect.isfunction(loaded):
        return [_describe_function(loaded)]
    raise TypeError(f"expected a module, a function or a @toolbox, found {type(loaded).__name__}")


def _describe_function(
    function: Callable[..., Any], owner: Callable[[ToolContext], Any] | None = None
) -> ToolDefinition:
    mark = mark_of(function)
    options = mark.options if mark is not None else ToolOptions()
    tool = func_to_tool_definition(function, LOCAL_SOURCE, options, owner=owner)
    if mark is not None:
        tool = replace(
            tool,
            name=mark.name or tool.name,
            description=mark.description or tool.description,
        )
    if not tool.description:
        raise TypeError(
            f"{tool.name}: the docstring is missing; it is the description for the model"
        )
    return tool


def _describe_toolbox(factory: Any) -> list[ToolDefinition]:  # noqa: ANN401 - a class or a function
    is_class = inspect.isclass(factory)
    made: Any = factory if is_class else get_type_hints(factory).get("return")
    takes = factory.__init__ if is_class else factory
    if not inspect.isclass(made):
        raise TypeError(f"{factory.__name__}: its return annotation must name a class")
    context_in = _context_parameter(takes)

    def make(context: ToolContext) -> Any:  # noqa: ANN401 - awaited where it is a coroutine
        return factory(**({context_in: context} if context_in else {}))

    methods = [
        method
        for name, method in inspect.getmembers(made, inspect.isfunction)
        if mark_of(method) is not None
    ]
    if not methods:
        raise TypeError(f"{made.__name__}: no method is marked @tool")
    methods.sort(key=lambda method: method.__code__.co_firstlineno)
    return [_describe_function(method, make) for method in methods]


def _context_parameter(function: Callable[..., Any]) -> str:
    if function is object.__init__:
        return ""
    hints = get_type_hints(function)
    return next((name for name, hint in hints.items() if hint is ToolContext), "")


def _named(named: str) -> object:
    module_name, _, attribute = named.partition(":")
    module = importlib.import_module(module_name)
    if not attribute:
        return module
    try:
        return getattr(module, attribute)
    except AttributeError:
        raise TypeError(f"{module_name} has no {attribute}") from None


def _file(path: Path) -> ModuleType:
    name = f"{_FOLDER_PACKAGE}_{path.stem}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise TypeError("not a Python file")
    module = module_from_spec(spec)
    # Type hints are looked up in the module by its name.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _no_folder() -> object:
    raise TypeError("the folder does not exist")


def _of_point(point: EntryPoint) -> tuple[str, str]:
    return point.name, point.value


def _one_line(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return f"line {error.lineno} is not valid Python: {error.msg}"
    text = " ".join(str(error).split())
    if isinstance(error, ModuleNotFoundError):
        return f"{text}: is it installed, or its folder on PYTHONPATH?"
    return text if isinstance(error, TypeError) and text else f"{type(error).__name__}: {text}"


class LocalSettings(SourceSettings):
    """Options of the type ``local``."""

    modules: tuple[Name, ...] = ()
    """``package.module`` or ``package.module:function``."""
    folder: str = ""
    """Python files, each a module with tools; relative to the working directory."""
    entry_points: bool = False
    """Use the tools that other installed packages publish (group ``vixio.tools``)."""


def _from_settings(settings: LocalSettings, context: SourceContext) -> LocalSource:
    return LocalSource(
        settings.modules,
        Path(settings.folder) if settings.folder else None,
        use_entry_points=settings.entry_points,
        name=context.name,
    )


LOCAL = ToolSourceFactory(settings_model=LocalSettings, create=_from_settings)
