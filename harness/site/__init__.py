"""The site: static pages about papers, arena, estimators, problems and own runs, that open from file:// and ask for nothing."""
