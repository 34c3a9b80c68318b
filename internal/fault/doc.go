// Package fault holds the error type and the sentinels that every room
// shares. Public packages re-export them under their own names (an alias), so
// that errors.As and errors.Is work across the whole library with one type.
package fault
