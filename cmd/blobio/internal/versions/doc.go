// Package versions holds the verbs of arrays with versions.
package versions
