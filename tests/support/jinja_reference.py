# What the real jinja2 makes of templates, in the sandbox that transformers renders chat templates in, as JSON lines.
#   jinja_reference.py render           {"template":..., "input":{...}} a line in
#   jinja_reference.py random SEED N    N templates made at random, each with its input
# Out: a line {"template", "input", and "rendered" (with "generated": ranges in characters) or "error"}.
import json
import random
import sys

from transformers.utils import chat_template_utils

compiled = chat_template_utils._compile_jinja_template
render_marked = chat_template_utils._render_with_assistant_indices


def answer(template, variables):
    result = {"template": template, "input": variables}
    try:
        chat = compiled(template)
        blocks, ranges = [], []
        with chat.environment.activate_tracker(blocks, ranges):
            for block in chat.generate(**variables):
                blocks.append(block)
        result["rendered"] = "".join(blocks)
        if ranges:
            result["generated"] = ranges
    except Exception as error:
        result["error"] = type(error).__name__ + ": " + str(error)
    return result


VARIABLES = {
    "s": "Hello World", "t": "  a b\n", "u": "é你😀ß", "e": "", "n": 3, "m": -2, "z": 0, "f": 1.5, "g": -0.25, "yes": True,
    "no": False, "nil": None, "l": [3, 1, 2], "w": ["b", "A", "c", "a"], "k": [], "mix": [1, "a", None, 2.5, True],
    "d": {"a": 1, "b": "x", "items": 5}, "v": {"role": "user", "content": "hi", "tool_calls": [{"id": 1}]}, "o": {},
    "messages": [{"role": "system", "content": "Be <brief>."}, {"role": "user", "content": " Hi 'you' "},
                 {"role": "assistant", "content": None}, {"role": "user", "content": [{"type": "text", "text": "T"}]}],
}

FILTERS = ["upper", "lower", "title", "capitalize", "trim", "length", "count", "first", "last", "reverse", "list", "string",
           "int", "float", "abs", "round", "join", "join(', ')", "sort", "unique", "tojson", "default('D')", "d('E', true)",
           "items", "map('upper')", "map('string')", "map(attribute='role')", "map(attribute='x', default='-')",
           "select('string')", "reject('none')", "selectattr('role')", "selectattr('role', 'equalto', 'user')",
           "rejectattr('content', 'none')", "replace('a', 'bb')", "replace('l', '', 1)", "min", "max", "sum", "dictsort",
           "dictsort(by='value')", "batch(2)", "batch(2, 'x')", "slice(2)", "groupby('role')", "indent", "indent(2, true)",
           "truncate(7)", "truncate(5, true, '')", "center(9)", "wordcount", "format(1)", "safe", "e", "escape",
           "forceescape", "attr('upper')", "urlencode", "tojson(indent=2)", "tojson(ensure_ascii=true)", "sort(reverse=true)",
           "sort(attribute='role')", "striptags", "wordwrap(5)", "filesizeformat", "xmlattr", "pprint", "round(1, 'floor')",
           "trim('Hd')", "unique(attribute='role')", "tojson(sort_keys=true)", "tojson(separators=(',', ':'))", "lower | trim"]
TESTS = ["defined", "undefined", "none", "string", "number", "integer", "float", "boolean", "mapping", "sequence", "iterable",
         "true", "false", "odd", "even", "upper", "lower", "callable", "divisibleby 3", "divisibleby(2)", "eq 3", "equalto('a')",
         "in [1, 'a', none]", "sameas none", "sameas true", "gt 1", "lt(5)", "ge 2", "ne none", "escaped", "filter", "test"]
METHODS = ["upper()", "lower()", "strip()", "lstrip()", "rstrip('dn')", "split()", "split('o')", "split(' ', 1)", "rsplit('l', 1)",
           "startswith('H')", "endswith(('d', 'x'))", "replace('o', '0')", "find('l')", "rfind('l')", "index('W')", "count('l')",
           "title()", "capitalize()", "swapcase()", "isdigit()", "isalpha()", "isspace()", "isupper()", "islower()",
           "splitlines()", "zfill(12)", "center(13, '*')", "ljust(12)", "rjust(12, '.')", "partition(' ')", "rpartition('o')",
           "removeprefix('He')", "removesuffix('ld')", "join(w)", "format(1, a=2)", "casefold()", "isalnum()", "istitle()",
           "expandtabs(4)", "items()", "keys()", "values()", "get('a')", "get('q', 7)", "get('role')", "copy()", "index(1)",
           "append(1)", "pop()", "update({})", "encode", "isascii()", "isidentifier()", "isnumeric()", "title"]
FORMATS = ["'%s|%r'", "'%d'", "'%5.2f'", "'%-6s|'", "'%05d'", "'%x'", "'%+d'", "'%%'", "'%e'", "'%g'", "'%c'", "'%(a)s'", "'%.2s'"]
BRACES = ["'{}'", "'{0} {0}'", "'{:>8}'", "'{:^9}'", "'{:*<7}'", "'{:05d}'", "'{:.2f}'", "'{:,}'", "'{!r}'", "'{a}'", "'{0[0]}'",
          "'{:x}'", "'{:+}'", "'{:e}'", "'{:%}'", "'{{}}'", "'{:s}'", "'{:b}'", "'{:#x}'", "'{:10.3}'", "'{0.upper}'"]


class Maker:
    def __init__(self, generator):
        self.r = generator

    def name(self):
        return self.r.choice(list(VARIABLES) + ["missing"])

    def literal(self):
        return self.r.choice(["1", "0", "-1", "2.5", "'a'", "'b c'", '"é"', "''", "true", "none", "[]", "[1, 2]", "{}", "{'a': 1}",
                              "(1, 'b')", "()", "1e3", "10", "'\\n'", "3", "range(4)", "[[1, 2], [3]]", "{'x': [1]}"])

    def expression(self, depth):
        r, e = self.r, lambda: self.expression(depth - 1)
        if depth <= 0:
            return self.name() if r.random() < 0.6 else self.literal()
        kind = r.randrange(20)
        if kind <= 2:
            return f"({e()} {r.choice(['+', '-', '*', '/', '//', '%', '**', '~', '+', '~'])} {e()})"
        if kind == 3:
            return f"({e()} {r.choice(['==', '!=', '<', '<=', '>', '>=', 'in', 'not in'])} {e()})"
        if kind == 4:
            return f"({e()} {r.choice(['and', 'or'])} {e()})"
        if kind == 5:
            return f"(not {e()})"
        if kind in (6, 7, 8):
            return f"{self.operand(depth)} | {r.choice(FILTERS)}"
        if kind in (9, 10):
            return f"({self.operand(depth)} is {r.choice(['', 'not '])}{r.choice(TESTS)})"
        if kind in (11, 12):
            return f"{self.operand(depth)}.{r.choice(METHODS)}"
        if kind == 13:
            return f"{self.operand(depth)}[{r.choice(['0', '-1', '1', '5', chr(39) + 'a' + chr(39), chr(39) + 'role' + chr(39), 'n', e()])}]"
        if kind == 14:
            part = lambda: r.choice(["", "0", "1", "-1", "2", "-2", "n", "9"])
            return f"{self.operand(depth)}[{part()}:{part()}{r.choice(['', ':' + r.choice(['1', '-1', '2', ''])])}]"
        if kind == 15:
            return f"({e()} if {e()}{r.choice(['', ' else ' + e()])})"
        if kind == 16:
            return f"({r.choice(FORMATS)} % {r.choice([e(), '(' + e() + ',)', '(' + e() + ', ' + e() + ')'])})"
        if kind == 17:
            return f"{r.choice(BRACES)}.format({e()}{r.choice(['', ', a=' + e()])})"
        if kind == 18:
            return f"[{e()}, {e()}]"
        return f"{self.operand(depth)}.{r.choice(['a', 'role', 'content', 'items', 'x', 'real'])}"

    def operand(self, depth):
        inner = self.expression(depth - 1)
        return f"({inner})" if self.r.random() < 0.5 and not inner.startswith("(") else inner

    def statements(self, depth):
        return "".join(self.statement(depth) for _ in range(self.r.randrange(1, 4)))

    def tag(self, text):
        return "{%" + self.r.choice(["", "-", "+", "", ""]) + " " + text + " " + self.r.choice(["", "-", "", "", "+"]) + "%}"

    def space(self):
        return self.r.choice(["", "", "\n", " ", "  \n  ", "x", "\n\n", "\t", "y \n"])

    def statement(self, depth):
        r, e = self.r, lambda: self.expression(2)
        kind = r.randrange(16) if depth > 0 else 0
        body = lambda: self.space() + self.statements(depth - 1) + self.space()
        if kind <= 3:
            text = "{{" + r.choice(["", "-"]) + " " + e() + " " + r.choice(["", "-"]) + "}}"
        elif kind == 4:
            text = self.tag("if " + e()) + body() + r.choice(["", self.tag("elif " + e()) + body(), self.tag("else") + body()]) + self.tag("endif")
        elif kind in (5, 6, 7):
            text = self.tag("for x in " + r.choice([e(), "l", "w", "messages", "range(3)", "s", "d"]) + r.choice(["", " if x", " if loop is undefined"]))
            text += body() + r.choice(["", "{{ loop.index }}{{ loop.last }}", "{{ loop.revindex0 }}", "{{ loop.cycle('p', 'q') }}",
                                       "{{ loop.previtem }}{{ loop.nextitem }}", "{{ loop.changed(x) }}{{ loop.length }}", "{{ x }}",
                                       self.tag("if loop.index > 1") + self.tag(r.choice(["break", "continue"])) + self.tag("endif")])
            text += r.choice(["", self.tag("else") + body()]) + self.tag("endfor")
        elif kind == 8:
            text = self.tag(f"set {r.choice(['q', 'n', 'q, s'])} = " + e())
        elif kind == 9:
            text = self.tag("set q" + r.choice(["", " | upper", " | trim | length"])) + body() + self.tag("endset") + "{{ q }}"
        elif kind == 10:
            text = self.tag("macro mac(a, b='B')") + body() + r.choice(["{{ a }}{{ b }}", "{{ varargs }}", "{{ kwargs }}", "{{ caller() }}"])
            text += self.tag("endmacro") + "{{ mac(" + r.choice(["", "1", "s, b=n", "1, 2", "1, 2, 3", "c=1", "*l"]) + ") }}"
        elif kind == 11:
            text = "{% set ns = namespace(c=0) %}" + self.tag("for x in l") + self.tag("set ns.c = ns.c + x") + self.tag("endfor") + "{{ ns.c }}"
        elif kind == 12:
            text = self.tag("generation") + body() + self.tag("endgeneration")
        elif kind == 13:
            text = self.tag("filter " + r.choice(["upper", "trim", "replace('x', 'y')", "length"])) + body() + self.tag("endfilter")
        elif kind == 14:
            text = r.choice(["{#" + r.choice(["", "-"]) + " note " + r.choice(["", "-"]) + "#}", "{% raw %}{{ x }}\n{% endraw %}\n",
                             self.tag("with q = " + e()) + body() + "{{ q }}" + self.tag("endwith")])
        else:
            text = self.tag("macro box(t)") + "[{{ t }}{{ caller('c') }}]" + self.tag("endmacro")
            text += self.tag("call(c) box(s)") + "{{ c }}" + body() + self.tag("endcall")
        return self.space() + text + self.space()


def comparable(result):
    """Addresses of objects and messages about Python's insides differ from run to run."""
    text = result.get("rendered", "") + result.get("error", "")
    return " at 0x" not in text


if sys.argv[1] == "render":
    for line in sys.stdin:
        case = json.loads(line)
        print(json.dumps(answer(case["template"], case["input"])))
else:
    maker = Maker(random.Random(int(sys.argv[2])))
    made = 0
    while made < int(sys.argv[3]):
        template = "{{ " + maker.expression(3) + " }}" if maker.r.random() < 0.5 else maker.statements(3)
        result = answer(template, VARIABLES)
        if comparable(result):
            print(json.dumps(result))
            made += 1
