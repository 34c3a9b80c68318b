package fti

// What the tests see beside the face.
var FFLayouts = ffLayouts
var OpenFF = openFF
var OpenFFReader = openFFReader
