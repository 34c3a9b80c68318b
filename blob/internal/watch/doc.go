// Package watch follows the writing of a dataset from outside: whether its writer is at work, and what is committed.
package watch
