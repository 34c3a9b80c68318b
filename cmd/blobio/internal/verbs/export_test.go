package verbs

// Exported for the tests.
var NewRoot = newRoot
