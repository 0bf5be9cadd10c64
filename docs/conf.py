"Sphinx's configuration; `docs/build.py` gathers the pages."
project = "gumbel_softmax"
html_title = "gumbel_softmax"
extensions = ["myst_nb"]
html_theme = "sphinx_book_theme"
nb_execution_mode = "off"  # the notebooks carry their outputs
myst_enable_extensions = ["dollarmath", "amsmath"]
suppress_warnings = ["mystnb.unknown_mime_type", "misc.highlighting_failure"]
