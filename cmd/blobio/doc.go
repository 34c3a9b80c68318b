// Command blobio lists, dumps, checks, compares and converts datasets in blob layouts, decomposition maps, checkpoints of FTI, SCR and Cello,
// and stores of versions. It also writes the E3SM cases as a benchmark.
//
// Each family of verbs has a package below internal. A verb parses its flags, calls the library and prints. All verbs have the same exit codes:
// 0 good, 1 damage, findings or differences, 2 could not judge or run (also for wrong flags). Errors go to stderr, one line each.
package main
