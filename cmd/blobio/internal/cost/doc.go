// Package cost holds the verb of what keeping versions costs.
package cost
