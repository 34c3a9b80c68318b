// Package watch observes a dataset while another process writes it: whether the writer is alive, and which
// records are committed.
package watch
