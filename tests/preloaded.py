"""What readers of documents load when they first need it, loaded at once: the model of languages takes half a second."""

from windrow.formats.sniff import detect_language

detect_language("A text that is long enough for its language to be looked for.")
