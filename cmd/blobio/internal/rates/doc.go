// Package rates holds replay and bench: cases that are written, and how fast.
package rates
