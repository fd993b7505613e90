"""Constructs of HTML with their meaning: a converter is faithful if its Markdown, rendered, means the same.

The second of each pair is HTML as a CommonMark renderer with tables and strike-through writes it, with spaces
collapsed. It is what a reader of the page sees, in no converter's own style: bullets, fences and escapes may be any.
"""

BASE = "https://news.example/2025/"

CONSTRUCTS = {
    "heading 1": ("<h1>A</h1>", "<h1>A</h1>"),
    "heading 2": ("<h2>A</h2><p>b</p>", "<h2>A</h2><p>b</p>"),
    "link": ('<p><a href="https://a.example/">a</a></p>', '<p><a href="https://a.example/">a</a></p>'),
    "paragraphs": ("<p>a</p><p>b</p>", "<p>a</p><p>b</p>"),
    "strong": ("<p><strong>a</strong> <b>b</b></p>", "<p><strong>a</strong> <strong>b</strong></p>"),
    "emphasis": ("<p><em>a</em> <i>b</i></p>", "<p><em>a</em> <em>b</em></p>"),
    "entities": ("<p>a &amp; b &#8217; &eacute;</p>", "<p>a &amp; b \u2019 \u00e9</p>"),
    "markup that is text": ("<p>&lt;script&gt;x&lt;/script&gt;</p>", "<p>&lt;script&gt;x&lt;/script&gt;</p>"),
    "entity that is text": ("<p>&amp;lt;</p>", "<p>&amp;lt;</p>"),
    "script and style": ("<p>a</p><script>x()</script><style>p{}</style>", "<p>a</p>"),
    "no-break space": ("<p>a&nbsp;b</p>", "<p>a b</p>"),
    "composed letters": ("<p>e\u0301</p>", "<p>\u00e9</p>"),
    "star that is text": ("<p>2 * 3 * 4 *x*</p>", "<p>2 * 3 * 4 *x*</p>"),
    "underscore in words": ("<p>snake_case_name _x_</p>", "<p>snake_case_name _x_</p>"),
    "underscore in code": ("<p><code>a_b_c</code></p>", "<p><code>a_b_c</code></p>"),
    "star in code": ("<p><code>a*b*</code></p>", "<p><code>a*b*</code></p>"),
    "backtick in code": ("<p><code>a`b</code></p>", "<p><code>a`b</code></p>"),
    "hash at the start": ("<p># no heading</p>", "<p># no heading</p>"),
    "number at the start": ("<p>2025. A year</p>", "<p>2025. A year</p>"),
    "brackets that are text": ("<p>[a](b)</p>", "<p>[a](b)</p>"),
    "space within bold": ("<p>a<b> b </b>c</p>", "<p>a <strong>b</strong> c</p>"),
    "empty bold": ("<p>a<b></b>b</p>", "<p>ab</p>"),
    "bold beside bold": ("<p><b>a</b><b>b</b></p>", "<p><strong>ab</strong></p>"),
    "line break": ("<p>a<br>b</p>", "<p>a<br>b</p>"),
    "rule": ("<p>a</p><hr><p>b</p>", "<p>a</p><hr><p>b</p>"),
    "deleted": ("<p><del>a</del></p>", "<p><s>a</s></p>"),
    "list": ("<ul><li>a</li><li>b</li></ul>", "<ul><li>a</li><li>b</li></ul>"),
    "nested list": (
        "<ul><li>a<ul><li>b<ul><li>c</li></ul></li></ul></li></ul>",
        "<ul><li>a<ul><li>b<ul><li>c</li></ul></li></ul></li></ul>",
    ),
    "malformed nested list": ("<ul><li>a</li><ul><li>b</li></ul></ul>", "<ul><li>a<ul><li>b</li></ul></li></ul>"),
    "list with a start": ('<ol start="3"><li>a</li><li>b</li></ol>', '<ol start="3"><li>a</li><li>b</li></ol>'),
    "list of paragraphs": (
        "<ul><li><p>a</p><p>b</p></li><li><p>c</p></li></ul>",
        "<ul><li><p>a</p><p>b</p></li><li><p>c</p></li></ul>",
    ),
    "code in a list": (
        "<ol><li>a<pre>x\n\ny</pre></li></ol>", "<ol><li><p>a</p><pre><code>x\n\ny\n</code></pre></li></ol>",
    ),
    "quotation": (
        "<blockquote><p>a</p><p>b</p></blockquote>", "<blockquote><p>a</p><p>b</p></blockquote>",
    ),
    "quotation in a quotation": (
        "<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote>",
        "<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote>",
    ),
    "code block": ("<pre><code>if x:\n    y &lt; 1\n</code></pre>", "<pre><code>if x:\n    y &lt; 1\n</code></pre>"),
    "fence in a code block": ("<pre>a\n```\nb</pre>", "<pre><code>a\n```\nb\n</code></pre>"),
    "table": (
        "<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>",
        "<table><thead><tr><th>A</th><th>B</th></tr></thead><tbody><tr><td>1</td><td>2</td></tr></tbody></table>",
    ),
    "bar in a table": (
        "<table><tr><th>A</th><th>B</th></tr><tr><td>1|2</td><td>3</td></tr></table>",
        "<table><thead><tr><th>A</th><th>B</th></tr></thead><tbody><tr><td>1|2</td><td>3</td></tr></tbody></table>",
    ),
    "table with newlines": (
        "<table><tr><th>A</th><th>B</th></tr><tr><td>\n x\n y\n</td><td>z</td></tr></table>",
        "<table><thead><tr><th>A</th><th>B</th></tr></thead><tbody><tr><td>x y</td><td>z</td></tr></tbody></table>",
    ),
    "paragraphs in a cell": (
        "<table><tr><th>A</th><th>B</th></tr><tr><td><p>x</p><p>y</p></td><td>z</td></tr></table>",
        "<table><thead><tr><th>A</th><th>B</th></tr></thead><tbody><tr><td>x y</td><td>z</td></tr></tbody></table>",
    ),
    "nested table": (
        "<table><tr><td>a</td><td><table><tr><th>b</th><th>c</th></tr><tr><td>d</td><td>e</td></tr></table></td></tr></table>",
        "<p>a</p><table><thead><tr><th>b</th><th>c</th></tr></thead><tbody><tr><td>d</td><td>e</td></tr></tbody></table>",
    ),
    "relative link": ('<p><a href="/x">a</a></p>', '<p><a href="https://news.example/x">a</a></p>'),
    "relative image": (
        '<p><img src="p.jpg" alt="a"></p>', '<p><img src="https://news.example/2025/p.jpg" alt="a"></p>',
    ),
    "image that comes late": (
        '<p><img src="data:image/gif;base64,x" data-src="/l.jpg" alt="a"></p>',
        '<p><img src="https://news.example/l.jpg" alt="a"></p>',
    ),
    "link to a script": ('<p><a href="javascript:x()">a</a></p>', "<p>a</p>"),
    "address with brackets": (
        '<p><a href="https://a.example/b_(c)">a</a></p>', '<p><a href="https://a.example/b_%28c%29">a</a></p>',
    ),
    "figure": (
        '<figure><img src="/p.jpg" alt="a"><figcaption>By Ann</figcaption></figure>',
        '<p><img src="https://news.example/p.jpg" alt="a"></p><p><em>By Ann</em></p>',
    ),
    "film": (
        '<iframe src="https://v.example/embed/1" title="A film"></iframe>',
        '<p><a href="https://v.example/embed/1">A film</a></p>',
    ),
    "related articles": ('<p>a</p><aside class="tncms-inline-relcontent"><h4>More</h4></aside>', "<p>a</p>"),
    "inline editorial": ('<p>a</p><figure class="inline-editorial-image"><p>More</p></figure>', "<p>a</p>"),
    "share buttons": ('<p>a</p><div class="sharedaddy sd-sharing-enabled"><a href="/s">Share</a></div>', "<p>a</p>"),
    "form": ("<p>a</p><form><input><button>Go</button></form>", "<p>a</p>"),
    "navigation": ('<nav><a href="/">Home</a></nav><p>a</p>', "<p>a</p>"),
}  # fmt: skip
