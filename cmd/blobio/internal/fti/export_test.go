package fti

// What the tests see beside the face.
var FfLayouts = ffLayouts
var OpenFF = openFF
var OpenFFReader = openFFReader
