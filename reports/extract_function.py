"""What one function of a Python target needs to stand alone: it, the module-level definitions that it uses, directly or not, and every
statement of the module that has an effect (settings of the framework), in the module's order and words. Registration by @op is left out.

Names are resolved by symtable, so a local variable that is named like a function of the module does not bring the function in.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import itertools
import re
import symtable
import sys
from typing import Iterator

LIBRARY = "normfuzz_target"


class CannotExtract(Exception):
    """Says in one sentence why there is no stand-alone program."""


class Statement:
    """One statement at module level."""

    def __init__(self, node: ast.stmt, lines: list[str], scopes: dict[int, symtable.SymbolTable]):
        self.node = node
        decorators = getattr(node, "decorator_list", [])
        self.first = min([node.lineno, *(d.lineno for d in decorators)])
        while self.first > 1 and lines[self.first - 2].startswith("#"):  # the comment directly above belongs to it
            self.first -= 1
        self.last = node.end_lineno or node.lineno
        self.defines = set(defined_names(node))
        self.is_import = isinstance(node, (ast.Import, ast.ImportFrom))
        self.is_block = isinstance(node, (ast.FunctionDef, ast.ClassDef))
        self.uses = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        if isinstance(node, ast.FunctionDef):
            outside = [*node.decorator_list, *node.args.defaults, *node.args.kw_defaults, node.returns, *annotations(node)]
            self.uses = {n.id for part in outside if part for n in ast.walk(part) if isinstance(n, ast.Name)}
            self.uses |= set(global_names(scopes[node.lineno]))

    def uses_unregistered(self) -> set[str]:
        """Without what only its registration uses."""
        registering = {n.id for d in self.registers() for n in ast.walk(d) if isinstance(n, ast.Name)}
        return self.uses - registering

    def registers(self) -> list[ast.expr]:
        """Decorators that register ops: calls with names only, as @op("layer_norm")."""
        return [d for d in getattr(self.node, "decorator_list", []) if op_names(d)]


def op_names(decorator: ast.expr) -> list[str]:
    if not isinstance(decorator, ast.Call) or not isinstance(decorator.func, ast.Name):
        return []
    values = [a.value for a in decorator.args if isinstance(a, ast.Constant)]
    return values if len(values) == len(decorator.args) and all(isinstance(v, str) for v in values) else []


def annotations(function: ast.FunctionDef) -> Iterator[ast.expr | None]:
    for node in ast.walk(function):
        if isinstance(node, ast.arg):
            yield node.annotation
        if isinstance(node, ast.AnnAssign):
            yield node.annotation


def global_names(scope: symtable.SymbolTable) -> Iterator[str]:
    yield from (s.get_name() for s in scope.get_symbols() if s.is_global())
    for inner in scope.get_children():
        yield from global_names(inner)


def defined_names(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from ((a.asname or a.name).split(".")[0] for a in node.names)
    elif isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            yield from (n.id for n in ast.walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    elif isinstance(node, (ast.If, ast.Try, ast.With, ast.For)):
        for inner in ast.iter_child_nodes(node):
            if isinstance(inner, ast.stmt):
                yield from defined_names(inner)


class Module:
    @classmethod
    @functools.lru_cache(maxsize=16)
    def of(cls, path: str, variables: tuple[tuple[str, str], ...]) -> Module:
        return cls(path, dict(variables))

    def __init__(self, path: str, environment: dict[str, str]):
        with open(path, encoding="utf-8") as file:
            original = file.read()
        self.source = specialized(original, environment)
        self.lines = self.source.split("\n")
        tree = ast.parse(self.source, path)
        scopes = {s.get_lineno(): s for s in symtable.symtable(self.source, path, "exec").get_children() if s.get_type() == "function"}
        for node in tree.body:  # symtable counts a decorated function from its first decorator in some versions
            if isinstance(node, ast.FunctionDef) and node.lineno not in scopes:
                scopes[node.lineno] = scopes[node.decorator_list[0].lineno]
        self.statements = [Statement(n, self.lines, scopes) for n in tree.body if not is_docstring(n)]
        self.mentioned = {n.id for n in ast.walk(ast.parse(original)) if isinstance(n, ast.Name)}

    def function(self, op: str) -> Statement:
        for s in self.statements:
            if any(op in op_names(d) for d in s.registers()):
                return s
        raise CannotExtract(f"no function of the target stands below a decorator that names {op}")

    def version(self) -> ast.expr | None:
        """What target(version=...) says."""
        for s in self.statements:
            if is_call_of(s.node, "target"):
                return next((k.value for k in s.node.value.keywords if k.arg == "version"), None)
        return None

    def library_names(self) -> set[str]:
        imports = [s.node for s in self.statements if isinstance(s.node, ast.ImportFrom) and s.node.module == LIBRARY]
        if any(a.asname for node in imports for a in node.names if a.name != "op"):
            raise CannotExtract(f"the target renames what it imports from {LIBRARY}")
        return {a.name for node in imports for a in node.names}

    def needed(self, names: set[str], effects: bool) -> tuple[list[Statement], set[str]]:
        """The statements that define the names or what these use, with `effects` also those that define nothing; and all names in use."""
        chosen: set[int] = set()
        wanted = set(names)
        for i, s in enumerate(self.statements):
            for_its_effect = s.is_import and not (s.defines & self.mentioned)  # an import of a name that nobody uses
            if effects and not about_the_host(s.node) and (for_its_effect or not s.defines):
                chosen.add(i)
                wanted |= s.uses
        growing = True
        while growing:
            growing = False
            for i, s in enumerate(self.statements):
                if i not in chosen and s.defines & wanted and not about_the_host(s.node):
                    chosen.add(i)
                    wanted |= s.uses_unregistered()
                    growing = True
        return [self.statements[i] for i in sorted(chosen)], wanted

    def parts(self, statements: list[Statement], wanted: set[str], known: set[str]) -> list[Part]:
        parts, last = [], 0
        for s in statements:
            if s.is_import:
                lines = import_lines(s.node, wanted | {n for n in s.defines if n not in self.mentioned}, known)
            else:
                skipped = {at for d in s.registers() for at in range(d.lineno, (d.end_lineno or d.lineno) + 1)}
                lines = [line for at, line in enumerate(self.lines[s.first - 1 : s.last], s.first) if at not in skipped]
            if lines:
                parts.append(Part("\n".join(lines), s.is_import, s.is_block, s.first > last + 1))
            last = s.last
        return parts


def is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def is_call_of(node: ast.stmt, name: str) -> bool:
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == name


def about_the_host(node: ast.stmt) -> bool:
    """Of no use outside of normfuzz: its module, target(version=...), whether bytecode is kept. __future__ stands above it all."""
    if isinstance(node, ast.ImportFrom):
        return node.module in (LIBRARY, "__future__")
    return is_call_of(node, "target") or (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "sys.dont_write_bytecode")


# ---- what a variant makes constant ----


def specialized(source: str, environment: dict[str, str]) -> str:
    """The module for one variant: os.environ.get("NORMFUZZ_...", default) becomes what the variant sets, or the default, and branches that
    are then never taken go."""
    lines = source.split("\n")
    reads = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Call) and ast.unparse(n.func) == "os.environ.get"]
    for node in reversed(reads):
        name = node.args[0].value if isinstance(node.args[0], ast.Constant) else ""
        default = ast.unparse(node.args[1]) if len(node.args) > 1 else "None"
        if node.lineno == node.end_lineno and (name in environment or name.startswith("NORMFUZZ_")):
            text = (repr(environment[name]) if name in environment else default).replace("'", '"').encode()
            line = lines[node.lineno - 1].encode()
            line = line[: node.col_offset] + text + line[node.end_col_offset :]
            lines[node.lineno - 1] = line.decode().split("  # ")[0]  # which spoke of what was replaced
    source = re.sub(r"^(#.*\n)*#.*manifest\.toml.*\n(#.*\n)*", "", "\n".join(lines), flags=re.M)
    while (shorter := without_one_branch(source)) is not None:
        source = shorter
    return source


def without_one_branch(source: str) -> str | None:
    """Without the first branch that is known not to be taken; None if there is none."""
    lines, tree = source.split("\n"), ast.parse(source)
    constants = constant_values(tree)
    for node in ast.walk(tree):
        value = evaluated(node.test, constants) if isinstance(node, ast.If) else None
        if value is None or node.body[0].lineno == node.lineno:
            continue
        end = node.body[-1].end_lineno or 0
        taken = lines[node.body[0].lineno - 1 : end] if value else lines[end : node.end_lineno]
        if not value and taken and taken[0].lstrip().startswith("elif"):
            taken[0] = taken[0].replace("elif", "if", 1)
        else:
            taken = [line[4:] for line in (taken if value else taken[1:])]
        alone = not taken and any(getattr(n, "body", None) == [node] for n in ast.walk(tree))
        lines[node.lineno - 1 : node.end_lineno] = [" " * node.col_offset + "pass"] if alone else taken
        return "\n".join(lines)
    return None


def constant_values(tree: ast.Module) -> dict[str, object]:
    """Module-level names that are set once, to what is known without running anything."""
    constants: dict[str, object] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            value = evaluated(node.value, constants)
            if value is not None and node.targets[0].id.isupper():
                constants[node.targets[0].id] = value
    return constants


def evaluated(expression: ast.expr, constants: dict[str, object]) -> object:
    """Its value (of a condition: True or False) if it is made of constants, comparisons and str.startswith, else None."""
    allowed = (ast.Constant, ast.Name, ast.Load, ast.Compare, ast.cmpop, ast.BoolOp, ast.boolop, ast.UnaryOp, ast.Not, ast.Tuple)
    calls = {id(n.func) for n in ast.walk(expression) if isinstance(n, ast.Call) and ast.unparse(n.func).endswith(".startswith")}
    for node in ast.walk(expression):
        known = isinstance(node, allowed) or id(node) in calls or (isinstance(node, ast.Call) and id(node.func) in calls)
        if not known or (isinstance(node, ast.Name) and node.id not in constants):
            return None
    value = eval(compile(ast.Expression(expression), "constant", "eval"), {"__builtins__": {}}, constants)  # noqa: S307
    return value if isinstance(value, (str, int, float, bool)) else None


# ---- the text ----


def import_lines(node: ast.Import | ast.ImportFrom, wanted: set[str], known: set[str]) -> list[str]:
    """The names that are needed and not imported before, a line each."""
    out = []
    for alias in node.names:
        spelled = alias.name if alias.asname is None else f"{alias.name} as {alias.asname}"
        line = f"import {spelled}" if isinstance(node, ast.Import) else f"from {node.module} import {spelled}"
        if line not in known and (alias.asname or alias.name).split(".")[0] in wanted:
            known.add(line)
            out.append(line)
    return out


def merged(imports: list[str]) -> str:
    """Python's own in alphabetical order, then the others as they come; names of one module in one line."""
    by_module: dict[str, list[str]] = {}
    for line in imports:
        module, _, name = line.partition(" import ")
        by_module.setdefault(module, []).append(name)
    lines = [f"{module} import {', '.join(sorted(names))}" if names[0] else module for module, names in by_module.items()]
    own = sorted((line for line in lines if not third_party(line)), key=lambda line: (line.startswith("from"), line))
    others = [line for line in lines if third_party(line)]
    return "\n".join([*own, *[""][: len(own) and len(others)], *others])


@dataclasses.dataclass
class Part:
    """An import, a definition or an effect."""

    text: str
    is_import: bool
    is_block: bool
    apart: bool  # a blank line stands before it in the module


def joined(parts: list[Part]) -> str:
    text, before = "", None
    for is_import, group in itertools.groupby(parts, lambda part: part.is_import):
        pieces = list(group)
        if is_import:
            pieces = [Part(merged([line for p in pieces for line in p.text.split("\n")]), True, False, True)]
        for part in pieces:
            if before is not None:
                text += "\n\n\n" if part.is_block or before.is_block else "\n\n" if part.apart or before.is_import else "\n"
            text += part.text
            before = part
    return text


class Extract:
    """The source of a stand-alone call of one op: of what the module and normfuzz_target.py define, what the op's function needs."""

    def __init__(self, module_path: str, library_path: str, op: str, environment: dict[str, str]):
        variables = tuple(environment.items())
        module, library = Module.of(module_path, variables), Module.of(library_path, variables)
        entry = module.function(op)
        self.function: str = entry.node.name
        arguments = entry.node.args
        self.accepted = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        self.takes_any = arguments.kwarg is not None
        self.arrays = next((k.value.value for d in entry.registers() for k in d.keywords if k.arg == "arrays"), "")

        version = module.version()
        used = {n.id for n in ast.walk(version) if isinstance(n, ast.Name)} if version else set()
        self.version = ast.get_source_segment(module.source, version) if version else ""
        if isinstance(version, (ast.Name, ast.Lambda)):
            self.version = f"({self.version})()"

        statements, wanted = module.needed({self.function} | used, effects=True)
        borrowed = (module.library_names() & wanted) | ({"with_arrays", f"{self.arrays}_arrays"} if self.arrays else set())
        library_statements, library_wanted = library.needed(borrowed, effects=False)
        self.known: set[str] = set()  # import lines
        self.library_parts = library.parts(library_statements, library_wanted, self.known)
        self.parts = module.parts(statements, wanted, self.known)
        self.names = {n for s in (*statements, *library_statements) for n in s.defines}

    def text(self, imports: list[str]) -> str:
        """All of it below these imports: imports first as far as nothing comes between them in the module."""
        own = [Part(line, True, False, False) for line in imports if line not in self.known]
        leading = next((i for i, p in enumerate(self.parts) if not p.is_import), len(self.parts))
        borrowed = self.library_parts
        imported = [*own, *(p for p in borrowed if p.is_import), *self.parts[:leading]]
        return joined([*imported, *(p for p in borrowed if not p.is_import), *self.parts[leading:]])


@functools.lru_cache(maxsize=256)
def third_party(text: str) -> list[str]:
    """The packages that a source imports, without Python's own."""
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {a.name.split(".")[0] for a in node.names}
        if isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
    return sorted(names - set(sys.stdlib_module_names))
