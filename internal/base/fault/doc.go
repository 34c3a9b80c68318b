// Package fault holds the errors and findings of all rooms: the error type with file, offset and field, the classes of
// errors, their constructors (Pkg), findings, and the collector that checks report to. Public packages re-export types
// and classes as aliases, so that errors.As and errors.Is work with one type across the library. Nothing is printed
// here: the printer decides with Text whether package names are shown.
package fault
