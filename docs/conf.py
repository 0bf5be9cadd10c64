"Sphinx's configuration; `docs/build.py` gathers the pages."
project = "gumbel_softmax"
html_title = "gumbel_softmax"
author = "the gumbel_softmax authors"
copyright = "2026 onwards, the gumbel_softmax authors"
extensions = ["myst_nb", "sphinx-mathjax-offline"]
html_theme = "sphinx_book_theme"
html_theme_options = {"navbar_persistent": [], "show_navbar_depth": 1, "use_download_button": False, "use_fullscreen_button": False,
                      "show_toc_level": 2}
html_context = {"default_mode": "auto"}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_search_summary = False  # it fetches pages, which a browser does not allow for a site on disk
nb_execution_mode = "off"  # the notebooks carry their outputs
myst_enable_extensions = ["dollarmath", "amsmath", "deflist", "fieldlist"]
myst_heading_anchors = 3
suppress_warnings = ["mystnb.unknown_mime_type", "misc.highlighting_failure", "myst.header"]
nb_ipywidgets_js = {}  # progress bars were stripped; nothing is fetched for what is left of them
nb_render_markdown_format = "myst"  # the tables that notebooks display
html_use_index = False  # the chapters and the estimators have their own
