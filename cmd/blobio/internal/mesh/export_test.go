package mesh

// Names for tests of another package.
const MostOfKind = mostOfKind
