"""Programs in Python without a .py, as modules: what they are made of is tested, too."""
import importlib.machinery
import importlib.util
import sys


def load_program(path):
    """The module that the program at `path` is.  Nothing is written beside it."""
    loader = importlib.machinery.SourceFileLoader(path.name, str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(path.name, loader))
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = before
    return module
