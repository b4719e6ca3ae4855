"""Where the sources can be changed: places in clang's syntax tree, each with what would stand there instead."""
import hashlib
import re
import subprocess
from dataclasses import dataclass

import clang.cindex
from clang.cindex import CursorKind as Kind
from clang.cindex import TypeKind

# What an operator becomes. < and > move their boundary by one, == and != are reversed; whole conditions are negated elsewhere.
ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "<<": ">>", ">>": "<<", "&": "|", "|": "&", "^": "&"}
COMPARISON = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
LOGIC = {"&&": "||", "||": "&&"}
ASSIGNMENT = {"=": "+=", "+=": "=", "-=": "+=", "*=": "=", "/=": "*=", "|=": "=", "&=": "="}
GUARDS = {"check", "check_usage", "check_result", "check_config", "check_same"}

NUMBERS = {TypeKind.CHAR_U, TypeKind.UCHAR, TypeKind.USHORT, TypeKind.UINT, TypeKind.ULONG, TypeKind.ULONGLONG,
           TypeKind.CHAR_S, TypeKind.SCHAR, TypeKind.SHORT, TypeKind.INT, TypeKind.LONG, TypeKind.LONGLONG,
           TypeKind.FLOAT, TypeKind.DOUBLE, TypeKind.LONGDOUBLE, TypeKind.BOOL}
UNKNOWN = {TypeKind.DEPENDENT, TypeKind.UNEXPOSED}  # of a template's parameter
# What the compiler must know: in these nothing can be chosen while the program runs.
CONSTANT = {Kind.STATIC_ASSERT, Kind.ENUM_CONSTANT_DECL, Kind.TYPE_REF, Kind.TEMPLATE_REF, Kind.TEMPLATE_TYPE_PARAMETER,
            Kind.TEMPLATE_NON_TYPE_PARAMETER, Kind.ALIGNED_ATTR, Kind.TYPE_ALIAS_DECL, Kind.TYPE_ALIAS_TEMPLATE_DECL,
            Kind.NAMESPACE_REF, Kind.CONCEPT_DECL if hasattr(Kind, "CONCEPT_DECL") else Kind.STATIC_ASSERT}


BODIES = {Kind.IF_STMT, Kind.FOR_STMT, Kind.WHILE_STMT, Kind.CXX_FOR_RANGE_STMT}  # of one statement, without braces


@dataclass(eq=False)
class Point:
    """Bytes begin .. end - 1 of a file, and what would stand there instead. A statement, which ends with its semicolon,
    has no text: it is left out."""
    file: str
    begin: int
    end: int
    kind: str
    text: bytes = b""
    line: int = 0
    runs_here: bool = True  # this processor has the instructions of a unit that it is in
    key: str = ""

    @property
    def drops(self):
        return self.kind in ("statement", "guard")

    @property
    def is_constant(self):
        """Known to the compiler, so it takes a build of its own."""
        return self.kind == "constexpr"


class Source:
    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            self.bytes = file.read()
        self.starts = [0] + [i + 1 for i, byte in enumerate(self.bytes) if byte == 10]

    def line_of(self, offset):
        low, high = 0, len(self.starts)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.starts[middle] <= offset else (low, middle)
        return low + 1

    def line(self, number):
        end = self.starts[number] if number < len(self.starts) else len(self.bytes)
        return self.bytes[self.starts[number - 1]:end].decode("utf-8", "replace").strip()


class Finder:
    """Walks a translation unit and collects the points in the files of `sources`."""

    def __init__(self, sources):
        self.sources = sources  # path -> Source
        self.points = {}        # (file, begin, end, kind, text) -> Point
        self.in_constant = False
        self.visited = set()    # of the paths
        self.runs_here = True   # the unit that it walks through

    def walk(self, unit, runs_here=True):
        self.runs_here = runs_here
        for cursor in unit.cursor.get_children():
            if self.path_of(cursor):
                self.visit(cursor, None)

    def path_of(self, cursor):
        file = cursor.location.file
        path = file.name.removeprefix("./") if file else None
        return path if path in self.sources else None

    def visit(self, cursor, parent):
        kind = cursor.kind
        if kind in CONSTANT:
            return
        if not self.in_constant and self.is_constant(cursor, parent):
            if kind == Kind.VAR_DECL:
                self.in_constant = True
                self.visit(cursor, parent)
                self.in_constant = False
            return
        children = list(cursor.get_children())
        if kind == Kind.IF_STMT and self.is_constexpr_if(cursor):
            for branch in children[1:]:
                self.visit(branch, cursor)
            return
        path = self.path_of(cursor)
        if path:
            self.visited.add(path)
            self.at(cursor, parent, children, self.sources[path])
        was_in_constant = self.in_constant
        self.in_constant = was_in_constant and kind != Kind.LAMBDA_EXPR  # which runs later
        # (What only converts, or ends temporaries, is not in the text.)
        is_seen = kind != Kind.UNEXPOSED_EXPR or parent is None or parent.kind != Kind.VAR_DECL
        for child in self.changeable(cursor, children):
            self.visit(child, cursor if is_seen else parent)
        self.in_constant = was_in_constant

    @staticmethod
    def changeable(cursor, children):
        """The children without those that must be constant."""
        if cursor.kind == Kind.CASE_STMT:
            return children[1:]
        if cursor.kind in (Kind.DECL_REF_EXPR, Kind.MEMBER_REF_EXPR):  # template arguments
            return [c for c in children if c.kind not in (Kind.INTEGER_LITERAL, Kind.BINARY_OPERATOR,
                                                         Kind.CXX_BOOL_LITERAL_EXPR)]
        return children

    @staticmethod
    def is_constant(cursor, parent):
        if cursor.kind in (Kind.VAR_DECL, Kind.FIELD_DECL):
            # Of several variables in one declaration, only the first one's tokens have the specifiers.
            declared = parent if parent is not None and parent.kind == Kind.DECL_STMT else cursor
            for token in declared.get_tokens():
                if token.spelling == "constexpr":
                    return True
                if token.spelling in ("=", "{", "("):
                    return False
        return False

    @staticmethod
    def is_constexpr_if(cursor):
        tokens = cursor.get_tokens()
        return [next(tokens).spelling, next(tokens).spelling] == ["if", "constexpr"]

    def add(self, source, begin, end, kind, text=b""):
        if begin < end and source.bytes[begin:end] != text:
            if self.in_constant:
                kind = "constexpr"
            point = Point(source.path, begin, end, kind, text, source.line_of(begin), self.runs_here)
            known = self.points.setdefault((source.path, begin, end, kind, text), point)
            known.runs_here = known.runs_here or self.runs_here

    def at(self, cursor, parent, children, source):
        begin, end = cursor.extent.start.offset, cursor.extent.end.offset
        kind = cursor.kind
        if kind in (Kind.BINARY_OPERATOR, Kind.COMPOUND_ASSIGNMENT_OPERATOR) and len(children) == 2:
            self.binary(source, begin, end, children, parent)
        elif kind == Kind.CALL_EXPR and not self.is_declaration(cursor, parent):
            self.call(cursor, source, begin, end)
        elif kind == Kind.UNARY_OPERATOR:
            if source.bytes[begin:begin + 1] == b"-":
                self.add(source, begin, end, "sign", source.bytes[begin + 1:end])
            elif re.match(rb"![^=]", source.bytes[begin:end]):  # x may be an optional: with !!x, both sides of ?: are bool
                self.add(source, begin, end, "sign", b"!!" + source.bytes[begin + 1:end])
        elif kind == Kind.INTEGER_LITERAL:
            self.integer(source, begin, end)
        elif kind == Kind.FLOATING_LITERAL:
            self.floating(source, begin, end)
        elif kind == Kind.CXX_BOOL_LITERAL_EXPR and source.bytes[begin:end] in (b"true", b"false"):
            self.add(source, begin, end, "boolean", b"false" if source.bytes[begin:end] == b"true" else b"true")
        elif kind in (Kind.IF_STMT, Kind.WHILE_STMT, Kind.CONDITIONAL_OPERATOR) and children:
            self.condition(source, children)
        elif kind == Kind.RETURN_STMT and len(children) == 1 and children[0].type.kind == TypeKind.BOOL:
            self.whole(source, children[0], "result", b"!(", b")")
        elif kind == Kind.COMPOUND_STMT:
            self.statements(source, children)
        if kind in BODIES:
            self.statements(source, children[1:] if kind == Kind.IF_STMT else children[-1:])

    @staticmethod
    def is_declaration(cursor, parent):
        """Of a member, in a constructor's list; or of a variable: its name, then arguments."""
        return parent is not None and (parent.kind == Kind.CONSTRUCTOR or parent.kind == Kind.VAR_DECL and
                                       parent.location.offset == cursor.extent.start.offset)

    def whole(self, source, cursor, kind, before, after):
        begin, end = cursor.extent.start.offset, cursor.extent.end.offset
        if source.bytes[begin:end].startswith(b"assert("):
            return  # the condition is the macro's own
        self.add(source, begin, end, kind, before + source.bytes[begin:end] + after)

    def binary(self, source, begin, end, children, parent):
        left, right = (c.extent for c in children)
        operator = source.bytes[left.end.offset:right.start.offset].strip().decode("ascii", "replace")
        kinds = {c.type.get_canonical().kind for c in children}
        if not (begin == left.start.offset and right.end.offset == end):
            return  # a macro
        for table, name, types in ((ARITHMETIC, "arithmetic", NUMBERS | UNKNOWN),
                                   (COMPARISON, "comparison", NUMBERS | UNKNOWN | {TypeKind.POINTER, TypeKind.ENUM}),
                                   (LOGIC, "logic", None),
                                   (ASSIGNMENT, "assignment", NUMBERS - {TypeKind.BOOL} | UNKNOWN)):
            if operator in table and (types is None or kinds <= types):
                if operator in ("<", "<=", ">", ">=") and TypeKind.POINTER in kinds:
                    continue
                self.add(source, begin, end, name, source.bytes[begin:left.end.offset] + b" " +
                         table[operator].encode() + b" " + source.bytes[right.start.offset:end])

    def call(self, cursor, source, begin, end):
        """Two neighbouring arguments of one type, the other way round."""
        text = source.bytes[begin:end]
        arguments = list(cursor.get_arguments())
        if cursor.spelling in ("min", "max", "fmin", "fmax"):
            return  # for which the order of its arguments does not matter
        if cursor.spelling == "insert":
            arguments = arguments[1:]  # the first is an iterator that becomes, only there, a const_iterator
        if not text.endswith(b")") or not re.match(rb"[A-Za-z_:.\->\[\]]+(<[^()]*>)?\(", text):
            return
        for one, two in zip(arguments, arguments[1:]):
            if one.type.get_canonical().spelling != two.type.get_canonical().spelling:
                continue
            a, b, c, d = (one.extent.start.offset, one.extent.end.offset, two.extent.start.offset, two.extent.end.offset)
            first, second = source.bytes[a:b], source.bytes[c:d]
            if begin < a < b < c < d < end and first != second:
                self.add(source, begin, end, "arguments",
                         source.bytes[begin:a] + second + source.bytes[b:c] + first + source.bytes[d:end])

    def integer(self, source, begin, end):
        text = source.bytes[begin:end]
        if re.fullmatch(rb"[0-9']+[uUlL]*", text):
            self.add(source, begin, end, "constant", b"1" + text[1:] if text[:1] == b"0" else text + b" + 1")

    def floating(self, source, begin, end):
        text = source.bytes[begin:end]
        if re.fullmatch(rb"[0-9'.]+([eE][-+]?[0-9]+)?[fF]?", text):
            is_zero = float(text.rstrip(b"fF").replace(b"'", b"")) == 0
            suffix = b"f" if text[-1:] in b"fF" else b""
            self.add(source, begin, end, "constant", b"1." + suffix if is_zero else b"0." + suffix)
            if not is_zero:
                self.add(source, begin, end, "constant", text + b" * 1.0625" + suffix)

    def condition(self, source, children):
        first = children[0]
        if first.kind in (Kind.DECL_STMT, Kind.VAR_DECL):
            return
        self.whole(source, first, "condition", b"!(", b")")

    def statements(self, source, children):
        """Calls, assignments, increments and early returns that are left out; a call of check is a guard. A loop that would
        go on ends."""
        for child in children:
            begin, end = child.extent.start.offset, child.extent.end.offset
            text = source.bytes[begin:end + 1]
            if text == b"continue;":
                self.add(source, begin, end + 1, "jump", b"break;")
            if text == b"return;":
                self.add(source, begin, end + 1, "statement")
            if child.kind not in (Kind.CALL_EXPR, Kind.BINARY_OPERATOR, Kind.COMPOUND_ASSIGNMENT_OPERATOR,
                                  Kind.UNARY_OPERATOR, Kind.UNEXPOSED_EXPR):
                continue
            if source.bytes[end:end + 1] != b";":
                continue
            name = re.match(rb"(?:[A-Za-z_]+::)*([A-Za-z_]+)\(", source.bytes[begin:end])
            is_guard = name and name.group(1).decode() in GUARDS
            self.add(source, begin, end + 1, "guard" if is_guard else "statement")


def name_points(points, sources):
    """Keys that outlive changes elsewhere in the file: the line's text, and which of the changes in lines like it."""
    seen = {}
    for point in sorted(points, key=lambda p: (p.file, p.begin, p.end, p.kind, p.text)):
        source = sources[point.file]
        old = " ".join(source.bytes[point.begin:point.end].decode("utf-8", "replace").split())
        old = old.removesuffix(";")
        new = "" if point.drops else " ".join(point.text.decode("utf-8", "replace").split())
        base = f"{point.file} | {source.line(point.line)} | {short(old, new)}"
        seen[base] = seen.get(base, 0) + 1
        point.key = base if seen[base] == 1 else f"{base} | {seen[base]}"


def short(old, new):
    """What differs: "a + b -> a - b", cut where both are long and equal."""
    if not new:
        return f"{old if len(old) <= 60 else old[:57] + '...'} -> nothing"
    return f"{old if len(old) <= 100 else old[:97] + '...'} -> {new if len(new) <= 100 else new[:97] + '...'}"


def own_headers(index):
    """Arguments with which clang's library finds stddef.h and the like, which belong to the compiler: none if it finds
    them by itself. The library that pip installs comes without them, so we take those of a clang that is installed."""
    for command in (None, "clang", "clang-14"):
        arguments = []
        if command:
            try:
                said = subprocess.run([command, "-print-resource-dir"], capture_output=True, text=True, check=True).stdout
            except (OSError, subprocess.CalledProcessError):
                continue
            arguments = ["-resource-dir", said.strip()]
        name = "own_headers.cpp"
        unit = index.parse(name, args=arguments, unsaved_files=[(name, "#include <stddef.h>\n")])
        if not list(unit.diagnostics):
            return arguments
    print("skipped mutants. clang's library finds no stddef.h (Debian: libclang-common-dev)")
    raise SystemExit(0)


def find(units, sources):
    """units: (name, text, arguments, whether this processor has its instructions) of files in memory that include the
    sources. Returns the points, named."""
    finder = Finder(sources)
    index = clang.cindex.Index.create()
    headers = own_headers(index)
    for name, text, arguments, runs_here in units:
        unit = index.parse(name, args=arguments + headers, unsaved_files=[(name, text)])
        errors = [d for d in unit.diagnostics if d.severity >= clang.cindex.Diagnostic.Error]
        if errors:
            raise SystemExit(f"mutate: clang does not compile {name}: {errors[0]}")
        finder.walk(unit, runs_here)
    unread = [path for path in sources if path.endswith(".cpp") and path not in finder.visited]
    if unread:
        raise SystemExit(f"mutate: in no unit: {' '.join(sorted(unread))}")
    points = list(finder.points.values())
    name_points(points, sources)
    return points


def share_of(points, count, number, shares):
    """Every `shares`-th point, from the number-th on, and how many of them make, with the other shares', the first `count`."""
    return points[number - 1::shares], count // shares + (number <= count % shares)


def order(points, seed):
    """A random order that depends on each point alone: a change of one line does not choose other mutants elsewhere."""
    return sorted(points, key=lambda p: hashlib.sha256(f"{seed} {p.key}".encode()).digest())


def keys_in(path, reason=""):
    """Each on a line of its own, indented: in equivalent.txt below its reason, in a report below its place. reason: only
    those whose reason begins like this."""
    keys, begins, above = set(), "", ""
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("    "):
                if begins.startswith(reason):
                    keys.add(line.strip())
            elif not above.strip() or above.startswith("    "):
                begins = line if line.strip() else begins
            above = line
    return keys
