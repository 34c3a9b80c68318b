// Package watch follows a dataset from outside: whether its writer is alive, and which records are committed.
package watch
