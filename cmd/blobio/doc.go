// Command blobio works with datasets in blob layouts: it lists, dumps, checks,
// compares and converts them, handles decomposition maps, and writes the E3SM
// cases as a benchmark.
//
// Verbs stand in one package for each family, below internal; a verb parses its
// flags, calls the library and prints. Exit codes are the same for all: 0 good, 1 findings or differences,
// 2 could not run (wrong flags included). Errors go to stderr, one line each.
package main
