// Package verbs is the whole command: the tree of all verbs, one process or many.
package verbs
