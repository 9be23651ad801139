"""Two knowledge bases behind a blueprint: passages about the regions, and taboos (section 3.5)."""
