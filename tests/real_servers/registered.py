"""mcp-server-tree-sitter with one project registered: it forgets its projects when it ends."""

import sys

from mcp_server_tree_sitter.di import get_container
from mcp_server_tree_sitter.server import main

get_container().project_registry.register_project("notes", sys.argv.pop(1))
main()
