"""Pages of the arena: its page in HTML and Markdown, and leaderboards with filters for the site."""
