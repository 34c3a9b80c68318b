// Package fault holds what every room says of what is wrong: the error type with its place in a file, the classes, the
// constructors of errors (Pkg), findings, and the collector that checks report to. Public packages re-export types and
// classes under their own names (an alias), so that errors.As and errors.Is work across the whole library with one
// type. Nothing is printed here: who prints decides with Text whether names of packages are shown.
package fault
