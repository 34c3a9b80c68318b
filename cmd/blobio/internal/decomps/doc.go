// Package decomps holds the verbs of decomposition maps, and the flags of verbs that read maps.
package decomps
