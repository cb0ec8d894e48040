/** Locks of holdfastd, the lock coordinator. */
module holdfast {
    exports holdfast;
}
