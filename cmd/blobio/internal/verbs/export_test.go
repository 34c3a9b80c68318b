package verbs

// What the tests see beside the face.
var NewRoot = newRoot
