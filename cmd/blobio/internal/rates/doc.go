// Package rates has the verbs replay and bench, which write cases and measure rates.
package rates
