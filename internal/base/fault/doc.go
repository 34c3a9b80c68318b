// Package fault has the errors and findings of all packages: the error type with file, offset and field, error classes,
// constructors, findings, and the collector for checks. Public packages re-export types and classes as aliases, so
// errors.As and errors.Is work with one type across the library.
package fault
