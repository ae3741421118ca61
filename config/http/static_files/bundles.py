"""Modules of the browser in few files: it asks four times, not for each of 80, and long files compress better than short ones.

A bundle only defines its modules, each as a function of its own, so none of their names has to change. At a module's own address
is a line that runs it, once on a page for all who import it, and hands out what it exports.

A bundler would be a front-end build, with Node. This needs only what our modules keep to, and it refuses the rest: imports and
exports begin their line, nothing is awaited outside a function, and modules do not import each other in a circle.
"""

import json
import posixpath
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

# Bundles by the module that they are made for. One that several reach is in the first of them.
ENTRIES = {
    "js/stillhere.js": "js/bundles/stillhere.js",
    "js/pages/common.js": "js/bundles/common.js",
    "js/chat.js": "js/bundles/chat.js",
}
# What the chat and other pages import.
SHARED = "js/bundles/shared.js"
BUNDLES = (*ENTRIES.values(), SHARED)
# A list of the modules that are loaded by their plain names, in JSON.
IMPORTED = "js/bundles/imported.json"
_ONCE = "const $once = (make) => {\n  let made;\n  return () => (made ??= make());\n};\n"
_IMPORT = re.compile(r'^import (?:\{([^{}]*)\} from )?"(\.[^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const) (\w+))", re.MULTILINE)
_EXPORTS = re.compile(r"^export \{\s*((?:\w+,?\s*)*)\};\n", re.MULTILINE)
_LATER = re.compile(r'(?<=\bimport\(")(\.[^"]+)(?="\))')
_OTHER = re.compile(r"^(?:import|export|await)\b.*|\bimport\.meta\b.*", re.MULTILINE)


class NotUnderstood(ValueError):
    def __init__(self, name: str, what: str) -> None:
        super().__init__(f"{name} cannot be bundled: {what}")


@dataclass
class Module:
    """`imports`: the names in the braces, "" without them, and the name of the module, in their order."""

    name: str
    source: str
    imports: list[tuple[str, str]] = field(init=False)
    exports: list[str] = field(init=False)
    body: str = field(init=False)

    def __post_init__(self) -> None:
        self.imports = [(names, self.resolve(target)) for names, target in _IMPORT.findall(self.source)]
        lists = ",".join(_EXPORTS.findall(self.source))
        self.exports = _EXPORT.findall(self.source) + re.findall(r"\w+", lists)
        self.body = _EXPORTS.sub("", _EXPORT.sub("", _IMPORT.sub("", self.source)))
        if other := _OTHER.search(self.body):
            raise NotUnderstood(self.name, other[0])

    def resolve(self, target: str) -> str:
        return posixpath.normpath(posixpath.join(posixpath.dirname(self.name), target))

    @property
    def variable(self) -> str:
        """Of the module within bundles."""
        return "$" + re.sub(r"\W", "_", self.name.removeprefix("js/").removesuffix(".js"))

    def within(self, bundle: str, modules: Mapping[str, "Module"]) -> str:
        """The module as a statement of the bundle."""
        body = _LATER.sub(lambda found: relative(self.resolve(found[0]), bundle), self.body)
        imported = (f"{_taken(names)}{modules[name].variable}();\n" for names, name in self.imports)
        returned = f"return {{ {', '.join(self.exports)} }};\n"
        return f"const {self.variable} = $once(() => {{\n{''.join(imported)}{body}{returned}}});\n"

    def from_bundle(self, bundle: str) -> str:
        """What is served at the module's own address. `bundle`: relative to it."""
        exported = f"export {_taken(', '.join(self.exports))}" if self.exports else ""
        return f'import {{ {self.variable} }} from "{bundle}";\n{exported}{self.variable}();\n'


def _taken(names: str) -> str:
    return f"const {{{names.replace(' as ', ': ')}}} = " if names else ""


def relative(name: str, beside: str) -> str:
    """How the file `beside` names the file `name`."""
    path = posixpath.relpath(name, posixpath.dirname(beside))
    return path if path.startswith(".") else f"./{path}"


def bundled(sources: Mapping[str, str], hashed: Callable[[str, str], str]) -> dict[str, str]:
    """The files to write, by name: the bundles, what is served at the addresses of the modules in them, and `IMPORTED`.

    `sources`: scripts by name. `hashed`: a bundle's name and text to the name under which it may be kept for ever.
    Raises NotUnderstood for a module that is not written as ours are.
    """
    modules = {name: Module(name, source) for name, source in sources.items()}
    place, written = dict[str, str](), dict[str, str]()
    for bundle, names in _divided(modules).items():
        text = _text(bundle, [modules[name] for name in names], modules, place)
        written[bundle] = text
        kept = hashed(bundle, text)
        place |= dict.fromkeys(names, kept)
        written |= {name: modules[name].from_bundle(relative(kept, name)) for name in names}
    return {**written, IMPORTED: json.dumps(_imported_by_name(modules, place.keys()))}


def _imported_by_name(modules: Mapping[str, Module], placed: Container[str]) -> list[str]:
    """What modules outside of the bundles import, and what any module imports later. `placed`: the modules in bundles."""
    outside = [imported for name, module in modules.items() if name not in placed for _, imported in module.imports]
    later = [module.resolve(target) for module in modules.values() for target in _LATER.findall(module.body)]
    return sorted({*outside, *later})


def _divided(modules: Mapping[str, Module]) -> dict[str, list[str]]:
    """The modules of each bundle. What one imports is in its own bundle or in one before."""
    parts = {ENTRIES[entry]: list(_with_imports([entry], modules)) for entry in ENTRIES}
    elsewhere = set(_with_imports(modules.keys() - {name for part in parts.values() for name in part}, modules))
    *first, (last, rest) = parts.items()
    ordered = [*first, (SHARED, [name for name in rest if name in elsewhere]), (last, rest)]
    placed = set[str]()
    divided = {}
    for bundle, names in ordered:
        divided[bundle] = [name for name in names if name not in placed]
        placed |= set(names)
    return divided


def _with_imports(names: Iterable[str], modules: Mapping[str, Module]) -> Iterator[str]:
    """Each module once, after all that it imports."""
    seen = set[str]()

    def visited(name: str, importing: tuple[str, ...]) -> Iterator[str]:
        if name in importing:
            raise NotUnderstood(name, f"it imports itself by way of {importing[-1]}")
        if name in seen:
            return
        if name not in modules:
            raise NotUnderstood(importing[-1], f"there is no {name}")
        for _, imported in modules[name].imports:
            yield from visited(imported, (*importing, name))
        seen.add(name)
        yield name

    for name in names:
        yield from visited(name, ())


def _text(bundle: str, own: list[Module], modules: Mapping[str, Module], place: Mapping[str, str]) -> str:
    """`place`: names of the bundles before, by module."""
    others: dict[str, set[str]] = {}
    for name in {name for module in own for _, name in module.imports} - {module.name for module in own}:
        others.setdefault(place[name], set()).add(modules[name].variable)
    head = [f'import {{ {", ".join(sorted(used))} }} from "{relative(file, bundle)}";\n' for file, used in sorted(others.items())]
    body = [module.within(bundle, modules) for module in own]
    given = ", ".join(module.variable for module in own)
    return "".join([*head, _ONCE, *body, f"export {{ {given} }};\n"])
