"""Modules of the browser in few files: it asks four times, not for each of 80, and long files compress better than short ones.

A bundle only defines its modules, each as a function of its own, so none of their names has to change. At a module's own address
is a line that runs it, once on a page for all who import it, and hands out what it exports.

All modules, also those in no bundle, name bundles by their hashes: what a browser still has of another version under a plain
name would name bundles that are gone. Only what is loaded later is asked for by its plain name.

A bundler would be a front-end build, with Node. This needs only what our modules keep to, and it refuses the rest: imports and
exports begin their line, nothing is awaited outside a function, and modules do not import each other in a circle.
"""

import json
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
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
# A bundle for each other module that others import.
ALONE = "js/bundles/alone/"
# A list of what is loaded and named by no page, in JSON: bundles of one module, and modules that are loaded later.
IMPORTED = "js/bundles/imported.json"
_ONCE = "const $once = (make) => {\n  let made;\n  return () => (made ??= make());\n};\n"
_IMPORT = re.compile(r'^import (?:\{([^{}]*)\} from )?"(\.[^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const) (\w+))", re.MULTILINE)
_EXPORTS = re.compile(r"^export \{\s*((?:\w+,?\s*)*)\};\n", re.MULTILINE)
_LATER = re.compile(r'(?<=\bimport\(")(\.[^"]+)(?="\))')
_OTHER = re.compile(r'^(?:import|export|await)\b.*|\bimport\.meta\b.*|\bimport\((?!"\.[^"]+"\)).*', re.MULTILINE)
# Of a whole line or more, and between two words: they name modules whose types they use.
_COMMENT = re.compile(r"/\*\*?\s.*?\*/|^\s*//[^\n]*", re.MULTILINE | re.DOTALL)


class NotUnderstood(ValueError):
    def __init__(self, name: str, what: str) -> None:
        super().__init__(f"{name} cannot be bundled: {what}")


@dataclass
class Module:
    """`number`: among all modules. `imports`: the names in the braces, "" without them, and the name of the module, in their
    order. `later`: what it asks for when it needs it."""

    name: str
    source: str
    number: int
    imports: list[tuple[str, str]] = field(init=False)
    exports: list[str] = field(init=False)
    later: list[str] = field(init=False)
    body: str = field(init=False)

    def __post_init__(self) -> None:
        self.imports = [(names, self.resolve(target)) for names, target in _IMPORT.findall(self.source)]
        lists = ",".join(_EXPORTS.findall(self.source))
        self.exports = _EXPORT.findall(self.source) + re.findall(r"\w+", lists)
        self.body = _EXPORTS.sub("", _EXPORT.sub("", _IMPORT.sub("", self.source)))
        code = _COMMENT.sub("", self.body)
        if other := _OTHER.search(code):
            raise NotUnderstood(self.name, other[0])
        self.later = [self.resolve(target) for target in _LATER.findall(code)]

    def resolve(self, target: str) -> str:
        return posixpath.normpath(posixpath.join(posixpath.dirname(self.name), target))

    @property
    def variable(self) -> str:
        """Of the module within bundles. Short: names made of its path took a hundredth of what the chat loads."""
        return f"${self.number:x}"

    def within(self, bundle: str, modules: Mapping[str, "Module"]) -> str:
        """The module as a statement of the bundle."""
        body = _LATER.sub(lambda found: relative(self.resolve(found[0]), bundle), self.body)
        returned = f"return {{ {', '.join(self.exports)} }};\n"
        return f"const {self.variable} = $once(() => {{\n{self._taking(modules)}{body}{returned}}});\n"

    def from_bundle(self, place: Mapping[str, str]) -> str:
        """What is served at the module's own address."""
        exported = f"export {_taken(', '.join(self.exports))}" if self.exports else ""
        return f"{_head(self.name, [self], place)}{exported}{self.variable}();\n"

    def outside(self, modules: Mapping[str, "Module"], place: Mapping[str, str]) -> str:
        """What is served of a module that is in no bundle."""
        head = _head(self.name, (modules[name] for _, name in self.imports), place)
        return f"{head}{self._taking(modules)}{_IMPORT.sub('', self.source)}"

    def _taking(self, modules: Mapping[str, "Module"]) -> str:
        """Runs what it imports, in this order."""
        return "".join(f"{_taken(names)}{modules[name].variable}();\n" for names, name in self.imports)


def _head(beside: str, used: Iterable[Module], place: Mapping[str, str]) -> str:
    """The imports of the file `beside`, from the bundles of the modules that it uses. `place`: their names, by module."""
    bundles: dict[str, set[str]] = {}
    for module in used:
        bundles.setdefault(place[module.name], set()).add(module.variable)
    imports = ((", ".join(sorted(names)), relative(bundle, beside)) for bundle, names in sorted(bundles.items()))
    return "".join(f'import {{ {names} }} from "{bundle}";\n' for names, bundle in imports)


def _taken(names: str) -> str:
    return f"const {{{names.replace(' as ', ': ')}}} = " if names else ""


def relative(name: str, beside: str) -> str:
    """How the file `beside` names the file `name`."""
    path = posixpath.relpath(name, posixpath.dirname(beside))
    return path if path.startswith(".") else f"./{path}"


def bundled(sources: Mapping[str, str], hashed: Callable[[str, str], str]) -> dict[str, str]:
    """The files to write, by name: the bundles, what is served at the addresses of modules, and `IMPORTED`.

    `sources`: scripts by name. `hashed`: a bundle's name and text to the name under which it may be kept for ever.
    Raises NotUnderstood for a module that is not written as ours are.
    """
    modules = {name: Module(name, sources[name], number) for number, name in enumerate(sorted(sources))}
    place, written = dict[str, str](), dict[str, str]()
    for bundle, names in _divided(modules).items():
        text = _text(bundle, [modules[name] for name in names], modules, place)
        written[bundle] = text
        place |= dict.fromkeys(names, hashed(bundle, text))
        written |= {name: modules[name].from_bundle(place) for name in names}
    written |= {name: module.outside(modules, place) for name, module in modules.items() if name not in place}
    return {**written, IMPORTED: json.dumps(_named_by_no_page(modules, place))}


def _named_by_no_page(modules: Mapping[str, Module], place: Mapping[str, str]) -> list[str]:
    for module in modules.values():
        if gone := set(module.later) - modules.keys():
            raise NotUnderstood(module.name, f"there is no {min(gone)}")
    later = {name for module in modules.values() for name in module.later}
    return sorted(later | {bundle for bundle in place.values() if bundle.startswith(ALONE)})


def _divided(modules: Mapping[str, Module]) -> dict[str, list[str]]:
    """The modules of each bundle. What one imports is in its own bundle or in one before."""
    parts = {ENTRIES[entry]: list(_with_imports([entry], modules)) for entry in ENTRIES}
    elsewhere = list(_with_imports(sorted(modules.keys() - {name for part in parts.values() for name in part}), modules))
    *first, (last, rest) = parts.items()
    ordered = [*first, (SHARED, [name for name in rest if name in elsewhere]), (last, rest)]
    placed = set[str]()
    divided = {}
    for bundle, names in ordered:
        divided[bundle] = [name for name in names if name not in placed]
        placed |= set(names)
    outside = [name for name in elsewhere if name not in placed]
    imported = {other for name in outside for _, other in modules[name].imports}
    return divided | {name.replace("js/", ALONE, 1): [name] for name in outside if name in imported}


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
    others = {name for module in own for _, name in module.imports} - {module.name for module in own}
    body = [module.within(bundle, modules) for module in own]
    given = ", ".join(module.variable for module in own)
    return "".join([_head(bundle, (modules[name] for name in others), place), _ONCE, *body, f"export {{ {given} }};\n"])
