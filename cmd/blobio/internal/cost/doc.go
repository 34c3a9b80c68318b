// Package cost has the verb that estimates the cost of keeping versions.
package cost
