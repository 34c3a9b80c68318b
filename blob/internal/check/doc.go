// Package check finds everything that is wrong with a dataset, and the differences of two.
package check
