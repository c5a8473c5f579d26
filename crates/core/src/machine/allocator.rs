//! What the allocator does with memory that is given back.

/// Asks the system's allocator to keep memory for the next one who needs some. Whoever takes and gives back megabytes thousands of times a second
/// waits for zeroed pages otherwise: threads that train a deep network do.
pub fn keep_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // The most that glibc takes for the first; if it refuses, the others stay as they are.
        const MAPPED_FROM: libc::c_int = 32 << 20;
        const PLENTY: libc::c_int = 1 << 30;
        static ONCE: std::sync::Once = std::sync::Once::new();
        // SAFETY: sets numbers of glibc's allocator, which any thread may do at any time.
        ONCE.call_once(|| unsafe {
            if libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_FROM) == 1 {
                libc::mallopt(libc::M_TRIM_THRESHOLD, PLENTY);
                libc::mallopt(libc::M_TOP_PAD, MAPPED_FROM);
            }
        });
    }
}
