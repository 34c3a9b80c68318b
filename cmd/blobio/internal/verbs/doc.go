// Package verbs assembles the whole command: the tree of all verbs, for one process or many.
package verbs
