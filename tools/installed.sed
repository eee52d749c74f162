# A page as it is installed: links that lead out of docs/ lead to what is installed, or are their text.
s,\]\(\.\./guards/,](guards/,g
s,\[([^]]*)\]\(\.\./[^)]*\),\1,g
