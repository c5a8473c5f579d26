//! Settings of the system's allocator.

/// Tells the allocator to keep freed memory for the next allocation instead of returning it to the
/// system. Threads that train a deep network allocate and free megabytes thousands of times a
/// second, and would otherwise wait for zeroed pages.
pub fn keep_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // The largest value that glibc accepts for the threshold; if it refuses, the other settings
        // still apply.
        const MAPPED_FROM: libc::c_int = 32 << 20;
        const PLENTY: libc::c_int = 1 << 30;
        static ONCE: std::sync::Once = std::sync::Once::new();
        // SAFETY: sets parameters of glibc's allocator, which any thread may do at any time.
        ONCE.call_once(|| unsafe {
            if libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_FROM) == 1 {
                libc::mallopt(libc::M_TRIM_THRESHOLD, PLENTY);
                libc::mallopt(libc::M_TOP_PAD, MAPPED_FROM);
            }
        });
    }
}
