"""Runs ClickHouse as a server, out of the library of chDB. Arguments: the library, then those of clickhouse-local."""

import ctypes
import sys

library, *arguments = sys.argv[1:]
argv = [text.encode() for text in ["clickhouse-local", *arguments]]
ctypes.CDLL(library).chdb_query_cmdline(len(argv), (ctypes.c_char_p * len(argv))(*argv))
